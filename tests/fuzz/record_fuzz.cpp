// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A record that somebody else wrote, its CSV and behind a form feed its sidecar: replayed and drawn
// as far as the script for gnuplot, or refused by a FileError or an invalid_argument.
#include "fuzz_target.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/plot/kernel_picture.hpp>
#include <nanoserve/report/plot/kernel_script.hpp>
#include <nanoserve/report/plot/paged_read_picture.hpp>
#include <nanoserve/report/plot/paged_read_script.hpp>
#include <nanoserve/report/plot/share_picture.hpp>
#include <nanoserve/report/plot/share_script.hpp>
#include <nanoserve/report/record.hpp>
#include <nanoserve/report/replay.hpp>

#include <report/broken_number.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::fuzz;
using report::testing::has_broken_number;

namespace {

using Rows = std::vector<report::ReadRow>;

void replay(const Rows& rows, std::string_view sidecar_text) {
    try {
        const report::Sidecar sidecar = report::parse_sidecar(sidecar_text);
        const Rows computed = report::rows_from_samples(rows, sidecar);
        static_cast<void>(report::format_replay(computed, rows));
        report::require_same_run(computed, sidecar);
        report::require_whole_record(computed, sidecar);
        report::require_same_rows(rows, computed, sidecar);
    } catch (const report::FileError& error) {
        require_one_line(error.what());
    }
}

// `may_hold_words`: the names in the rows may be "nan" or "inf" themselves.
template <class Draw>
void draw(bool may_hold_words, Draw make_script) {
    try {
        const std::string script = make_script();
        require_property(!script.empty(), "a picture has a script");
        require_property(may_hold_words || !has_broken_number(script),
                         "a script holds numbers only");
    } catch (const std::invalid_argument& error) {
        require_one_line(error.what());
    }
}

report::KernelRows kernel_rows(const Rows& rows) {
    report::KernelRows kernel{
        rows, rows, {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64}, {1}};
    std::erase_if(kernel.cpu, [](const report::ReadRow& row) { return !row.threads; });
    std::erase_if(kernel.gpu, [](const report::ReadRow& row) { return row.threads.has_value(); });
    return kernel;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = text_of(data, size);
    const std::size_t csv_end = std::min(text.find('\f'), text.size());
    Rows rows;
    try {
        rows = report::parse_csv(text.substr(0, csv_end));
    } catch (const report::FileError&) {
        return 0;  // csv_fuzz looks at these
    }
    const bool has_words = has_broken_number(text.substr(0, csv_end));
    replay(rows, text.substr(std::min(csv_end + 1, text.size())));
    draw(has_words,
         [&] { return report::paged_read_script(report::paged_read_picture(rows, "a caption")); });
    draw(has_words, [&] {
        return report::kernel_script(report::kernel_picture(kernel_rows(rows), {"a", "b"}));
    });
    draw(has_words, [&] {
        return report::share_script(report::share_picture(rows, rows, {"a", "b", "c"}));
    });
    return 0;
}
