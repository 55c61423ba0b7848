// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The geometry of one chart of the kernel's picture. Pure numbers, no gnuplot.
#pragma once

#include <nanoserve/report/plot/chart_frame.hpp>
#include <nanoserve/report/plot/kernel_curves.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::report {

/// A number beside a marker of the kernel.
struct ValueText {
    std::string text;
    PixelPoint centre;
};

/// The distance from the kernel down to its ceiling.
struct CeilingGap {
    PixelPoint from;
    PixelPoint to;
    std::string text;    ///< "264 ×"
    PixelPoint text_at;  ///< where it begins, at half its height
};

/// One batch size.
struct KernelChart : ChartFrame {
    std::string heading;  ///< "64 sequences"
    std::string remark;   ///< how many times its limit each read takes
    std::vector<NamedCurve> curves;
    std::vector<CurveName> names;  ///< one for each curve, in their order
    std::vector<ValueText> values;
    std::optional<CeilingGap> gap;  ///< absent when the kernel is not above its ceiling
};

/// Lays one batch out in `box`, microseconds upwards; `baseline` is the read of KernelRows. All the
/// curves of `shared` fit its axes, so that the charts of a picture can be compared with the eye.
[[nodiscard]] KernelChart kernel_chart(std::vector<NamedCurve> curves, const std::string& baseline,
                                       std::int64_t num_seqs, const PixelBox& box,
                                       std::span<const NamedCurve> shared);

}  // namespace nanoserve::report
