// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Gnuplot commands, gathered as text. Places are pixels of the picture.
#pragma once

#include <nanoserve/report/plot/label_placement.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace nanoserve::report {

/// A script that grows line by line.
class GnuplotScript {
  public:
    /// The picture's size in pixels.
    GnuplotScript(double width, double height) : width_(width), height_(height) {}

    /// Appends one line.
    void line(std::string_view commands);

    /// Text at a place. `literal` is a gnuplot string, `align` is left, center or right, `angle` is
    /// in degrees.
    void label(const std::string& literal, PixelPoint at, int size, std::string_view colour,
               std::string_view align = "left", double angle = 0);

    /// A straight line, above everything else. `how` is gnuplot's clause for its heads and its
    /// look.
    void line(PixelPoint from, PixelPoint to, std::string_view how);

    /// A filled rectangle behind everything else. `border` is gnuplot's clause for its edge.
    void rectangle(const PixelBox& box, std::string_view fill, std::string_view border);

    /// The commands; the script is used up.
    [[nodiscard]] std::string text() && { return std::move(text_); }

  private:
    double width_;
    double height_;
    std::string text_;
};

}  // namespace nanoserve::report
