// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/aligned_buffer.hpp>
#include <nanoserve/cache/out_of_memory.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nanoserve::AlignedBuffer;

TEST_CASE("a buffer starts on a cache line, is zeroed, and moves with its bytes", "[cache]") {
    AlignedBuffer buffer(1000);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment == 0);
    CHECK(std::all_of(buffer.data(), buffer.data() + 1000,
                      [](std::byte byte) { return byte == std::byte{0}; }));
    const std::byte* before = buffer.data();
    const AlignedBuffer moved = std::move(buffer);
    CHECK(moved.data() == before);
    CHECK(buffer.data() == nullptr);  // NOLINT(bugprone-use-after-move): this is what is tested
}

TEST_CASE("a buffer larger than any memory is refused with its size, not wrapped", "[cache]") {
    const auto num_bytes = GENERATE(SIZE_MAX, SIZE_MAX - 62, std::size_t{PTRDIFF_MAX} + 1);
    CHECK_THROWS_MATCHES(AlignedBuffer(num_bytes), nanoserve::OutOfMemory,
                         MessageMatches(ContainsSubstring(std::to_string(num_bytes) + " bytes")));
}
