// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the day shows without a GPU.
#pragma once

namespace nanoserve::day27 {

/// Prints what a cache of fp8 costs in digits, for values of several sizes and several scales,
/// beside a cache of bf16; and what the record says beside the peers.
void tell_without_gpu();

}  // namespace nanoserve::day27
