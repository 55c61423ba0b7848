// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The words around a picture.
#pragma once

#include <string>
#include <vector>

namespace nanoserve::report {

/// The finding at the top, what was measured below it, and where it comes from at the foot.
struct Heading {
    std::string title;
    std::string subtitle;
    std::vector<std::string> foot;  ///< lines, from top to bottom
};

}  // namespace nanoserve::report
