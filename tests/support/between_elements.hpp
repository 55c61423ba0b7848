// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nanoserve::testing {

/// One byte behind `pointer`: where no element of two bytes or more can stand. Not to be followed.
template <class T>
[[nodiscard]] T* between_elements(T* pointer) {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

}  // namespace nanoserve::testing
