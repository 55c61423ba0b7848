// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "own_machine.hpp"

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/report/provenance.hpp>
#include <nanoserve/report/standard_error.hpp>

#include <fmt/core.h>
#include <options.hpp>
#include <sweep.hpp>
#include <sweep_files.hpp>

namespace nanoserve::replay {

OwnRows measure_own_machine(const OwnRun& run) {
    day20::Options options;
    options.histories = run.histories;
    options.reads = {"streaming"};
    options.model = run.model;
    options.num_samples = run.num_samples;
    options.cache = day20::CacheState::cold;  // as a GPU's reads are
    std::vector<day20::SweepPoint> points;
    for (const std::int64_t seq_len : run.histories) {
        report::complain("replay", fmt::format("measuring {} of {}: {} tokens", points.size() + 1,
                                               run.histories.size(), seq_len));
        points.push_back(day20::measure(options, seq_len));
    }
    const auto provenance = report::collect_provenance(to_string(options.instruction_set));
    return {day20::to_rows(options, report::machine_name(provenance), points),
            report::plot_caption(provenance)};
}

}  // namespace nanoserve::replay
