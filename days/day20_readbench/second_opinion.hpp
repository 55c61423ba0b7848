// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Google Benchmark's word on a read that readbench has timed.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace nanoserve::day20 {

/// The mean real time of one call in microseconds, as Google Benchmark measures it: as many
/// iterations as fill a tenth of a second, divided by their count. It keeps no samples, so it is to
/// be compared with a mean. Nothing when it gives none. What BENCHMARK_... variables of the
/// environment ask of other programs doesn't count.
[[nodiscard]] std::optional<double> google_benchmark_us(const std::string& name,
                                                        const std::function<void()>& read);

}  // namespace nanoserve::day20
