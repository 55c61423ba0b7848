// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What Day 22 shows where there is no GPU.
#pragma once

namespace nanoserve::day22 {

/// Prints which lane reads what, and what the CPU twins of Day 21's kernel and of today's read of
/// the same history.
void tell_reads();

}  // namespace nanoserve::day22
