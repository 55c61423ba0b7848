// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace nanoserve::testing {

/// While it lives, operator new of this thread works `num_good` times and then fails `num_bad`
/// times: it throws std::bad_alloc, the aligned one that doesn't throw gives nullptr. A program
/// that links failing_new.cpp has such an operator new.
class FailingNew {
  public:
    static constexpr int kForever = -1;  ///< as num_bad

    explicit FailingNew(int num_good, int num_bad = kForever);
    FailingNew(const FailingNew&) = delete;
    FailingNew& operator=(const FailingNew&) = delete;
    ~FailingNew();
};

}  // namespace nanoserve::testing
