// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the day shows without a GPU.
#pragma once

namespace nanoserve::day24 {

/// Prints what a warp asks for and uses when, with a ring of three stages; where the chunks of a
/// tile stand; and what a thread block has on its way.
void tell_ring();

}  // namespace nanoserve::day24
