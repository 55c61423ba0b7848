// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/aligned_buffer.hpp>
#include <nanoserve/cache/out_of_memory.hpp>

#include <cstdint>
#include <cstring>
#include <new>

namespace nanoserve {
namespace {

// No memory is larger; beyond it operator new would wrap where it rounds up to the alignment.
constexpr std::size_t kMostBytes = PTRDIFF_MAX;

void* allocate(std::size_t num_bytes) noexcept {
    return num_bytes > kMostBytes
               ? nullptr
               : ::operator new (num_bytes, std::align_val_t{AlignedBuffer::kAlignment},
                                 std::nothrow);
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t num_bytes) {
    void* memory = allocate(num_bytes);
    if (memory == nullptr) {
        throw OutOfMemory(static_cast<double>(num_bytes),
                          join_text("a buffer of ", num_bytes, " bytes"));
    }
    std::memset(memory, 0, num_bytes);
    bytes_.reset(static_cast<std::byte*>(memory));
}

void AlignedBuffer::Free::operator()(std::byte* bytes) const noexcept {
    ::operator delete (bytes, std::align_val_t{kAlignment});
}

}  // namespace nanoserve
