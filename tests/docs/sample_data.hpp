// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A data folder with one result file, for the tests of the page maker.
#pragma once

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <data_folder.hpp>
#include <report/sample_rows.hpp>
#include <report/temporary_folder.hpp>

#include <string>
#include <vector>

namespace nanoserve::pages::testing {

/// `sweep.csv`: gather, fused and read_floor on 16 and 64 tokens; the floor has no speedup.
class SampleData {
  public:
    SampleData() {
        std::vector<report::ReadRow> rows;
        report::testing::append_read(rows, "gather", {10.0, 40.0});
        report::testing::append_read(rows, "fused", {5.0, 2500.0}, "faster");
        report::testing::append_read(rows, "read_floor", {0.5, 2.0});
        rows[2].speedup = 2.0;
        rows[2].floor_us = 0.5;
        rows[3].gb_per_s = 4637.2;
        report::write_csv(folder_.path() / "sweep.csv", rows);
        report::Sidecar sidecar;
        sidecar.provenance.cpu = "AMD EPYC";
        sidecar.provenance.num_cpus = 2;
        sidecar.provenance.compiler = "GCC 12.2.0";
        sidecar.provenance.build_type = "Release";
        sidecar.provenance.date_utc = "2026-07-04T09:30:00Z";
        sidecar.provenance.commit = "abc123";
        sidecar.fitted = {{"fused.floor_us", 1.25},
                          {"fused.last_leg_ratio", 6.0},
                          {"gather.crossover_tokens", std::nullopt}};
        sidecar.options = {{"samples", "400"}};
        report::write_sidecar(folder_.path() / "sweep.json", sidecar);
    }

    DataFolder data() { return DataFolder(folder_.path()); }

  private:
    report::testing::TemporaryFolder folder_;
};

}  // namespace nanoserve::pages::testing
