// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Where a number comes from: machine, compiler, code and date.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nanoserve::report {

/// What the caller knows about the GPU that it measured.
struct GpuFacts {
    std::string name;    ///< "NVIDIA H200"
    std::string cuda;    ///< version of the toolkit, "13.0"
    std::string driver;  ///< version of the driver
    std::string clocks;  ///< as read, with units: "SM 1980 MHz, memory 3201 MHz"

    bool operator==(const GpuFacts&) const = default;
};

/// The facts that a measurement is worth nothing without. They hold no path, no user and no host
/// name.
struct Provenance {
    std::string cpu;            ///< model name from /proc/cpuinfo, or "unknown CPU"
    int num_cpus = 0;           ///< CPUs that this process may run on
    std::string os;             ///< PRETTY_NAME of /etc/os-release, or "unknown"
    std::string compiler;       ///< "GCC 12.2.0"
    std::string build_type;     ///< "Release"
    std::string compile_flags;  ///< flags that change the code: "-O3 -DNDEBUG -ffp-contract=off"
    std::string
        commit;  ///< short hash of the code that was built, "-dirty" behind it, or "unknown"
    std::string date_utc;         ///< ISO 8601: "2026-07-04T09:30:00Z"
    std::string instruction_set;  ///< what run-time dispatch picked: "avx512"
    std::optional<GpuFacts> gpu;  ///< absent when no GPU was measured

    bool operator==(const Provenance&) const = default;
};

/// The facts of this process, now. `instruction_set` and `gpu` are the caller's, for only the
/// caller knows them. Throws nothing: what cannot be found out is "unknown".
[[nodiscard]] Provenance collect_provenance(std::string_view instruction_set,
                                            std::optional<GpuFacts> gpu = std::nullopt);

/// A short key for the column `machine`: "AMD EPYC, 2 CPUs", or the GPU's name where one was
/// measured.
[[nodiscard]] std::string machine_name(const Provenance& provenance);

/// One line for the foot of a picture: machine, GPU facts where there are any, compiler, date and
/// commit.
[[nodiscard]] std::string plot_caption(const Provenance& provenance);

namespace detail {

/// The value of the first line `key : value` or `key=value`, without quotes; nothing when no line
/// has that key.
[[nodiscard]] std::optional<std::string> find_value(std::string_view text, std::string_view key,
                                                    char separator);

/// A CPU's model name without marks, clock and core count: "Intel(R) Xeon(R) CPU @ 2.20GHz" is
/// "Intel Xeon".
[[nodiscard]] std::string short_cpu_name(std::string_view model_name);

}  // namespace detail

}  // namespace nanoserve::report
