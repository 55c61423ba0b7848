// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Text that gnuplot takes as it stands.
#pragma once

#include <string>
#include <string_view>

namespace nanoserve::report {

/// A gnuplot string that means exactly `text`: quotes, backslashes and line ends are safe.
[[nodiscard]] std::string gnuplot_literal(std::string_view text);

/// The same for text that is drawn in enhanced mode, where "read_floor" would come out with a
/// subscript.
[[nodiscard]] std::string gnuplot_label(std::string_view text);

/// The same in bold.
[[nodiscard]] std::string gnuplot_bold(std::string_view text);

}  // namespace nanoserve::report
