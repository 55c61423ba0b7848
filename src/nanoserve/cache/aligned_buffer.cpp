// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/cache/aligned_buffer.hpp>
#include <nanoserve/model/require.hpp>

#include <cstring>
#include <new>

namespace nanoserve {

AlignedBuffer::AlignedBuffer(std::size_t num_bytes) {
    void* memory = ::operator new (num_bytes, std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr) {
        throw std::runtime_error(join_text("out of memory: ", num_bytes, " bytes (",
                                           static_cast<double>(num_bytes) / 1e9,
                                           " GB) are not to be had"));
    }
    std::memset(memory, 0, num_bytes);
    bytes_.reset(static_cast<std::byte*>(memory));
}

void AlignedBuffer::Free::operator()(std::byte* bytes) const noexcept {
    ::operator delete (bytes, std::align_val_t{kAlignment});
}

}  // namespace nanoserve
