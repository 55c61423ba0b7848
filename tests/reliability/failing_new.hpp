// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nanoserve::testing {

/// While it lives, operator new of this thread works `num_good` times and then throws
/// std::bad_alloc. A program that links failing_new.cpp has such an operator new.
class FailingNew {
  public:
    explicit FailingNew(int num_good);
    FailingNew(const FailingNew&) = delete;
    FailingNew& operator=(const FailingNew&) = delete;
    ~FailingNew();
};

}  // namespace nanoserve::testing
