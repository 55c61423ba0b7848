// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "reliability/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local int num_good_left = 0;
thread_local int num_bad_left = 0;  // below 0: all that follow

// Whether this allocation fails.
bool fails() {
    if (num_good_left > 0) {
        --num_good_left;
        return false;
    }
    const bool is_bad = num_bad_left != 0;
    num_bad_left -= num_bad_left > 0 ? 1 : 0;
    return is_bad;
}

}  // namespace

namespace nanoserve::testing {

FailingNew::FailingNew(int num_good, int num_bad) {
    num_good_left = num_good;
    num_bad_left = num_bad;
}

FailingNew::~FailingNew() {
    num_good_left = num_bad_left = 0;
}

}  // namespace nanoserve::testing

void* operator new(std::size_t num_bytes) {
    void* memory = fails() ? nullptr : std::malloc(num_bytes == 0 ? 1 : num_bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

// As AlignedBuffer asks for its memory; aligned_alloc wants a multiple of the alignment.
void* operator new(std::size_t num_bytes, std::align_val_t alignment,
                   const std::nothrow_t& /*nothrow*/) noexcept {
    const auto align = static_cast<std::size_t>(alignment);
    return fails() ? nullptr : std::aligned_alloc(align, (num_bytes / align + 1) * align);
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*num_bytes*/) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
