// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "reliability/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local int num_good_left = -1;  // below 0: all are good

}  // namespace

namespace nanoserve::testing {

FailingNew::FailingNew(int num_good) {
    num_good_left = num_good;
}

FailingNew::~FailingNew() {
    num_good_left = -1;
}

}  // namespace nanoserve::testing

void* operator new(std::size_t num_bytes) {
    if (num_good_left == 0) {
        throw std::bad_alloc();
    }
    num_good_left -= num_good_left > 0 ? 1 : 0;
    void* memory = std::malloc(num_bytes == 0 ? 1 : num_bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t /*num_bytes*/) noexcept {
    std::free(memory);
}
