// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What the day shows without a GPU.
#pragma once

namespace nanoserve::day25 {

/// Prints which lane holds which score of a product, and which lane names which row of K and of V.
void tell_fragments();

}  // namespace nanoserve::day25
