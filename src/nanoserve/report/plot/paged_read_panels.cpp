// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_panels.hpp>
#include <nanoserve/report/plot/wrapped_text.hpp>

#include <algorithm>

namespace nanoserve::report::detail {

std::span<const ReadCurve> panel_reads(const PagedReadFacts& facts) {
    return std::span(facts.reads).first(std::min(facts.reads.size(), kMaxPanelColumns));
}

Panel start_panel(std::string_view heading, const PagedReadFacts& facts) {
    Panel panel;
    panel.heading = heading;
    for (const ReadCurve& curve : panel_reads(facts)) {
        panel.columns.push_back(shortened(curve.read, kMaxPanelColumnLength));
    }
    return panel;
}

void add_sentence(Panel& panel, std::string_view sentence) {
    for (std::string& line : wrapped(sentence, kMaxPanelLineLength)) {
        if (panel.lines.size() < kMaxPanelLines) {
            panel.lines.push_back(std::move(line));
        }
    }
}

}  // namespace nanoserve::report::detail
