// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/paged_read_finding.hpp>
#include <nanoserve/report/plot/paged_read_picture.hpp>

#include <fmt/core.h>

#include <utility>

namespace nanoserve::report {
namespace {

std::string how_to_read(const PagedReadFacts& facts) {
    std::string text = "Marker: fastest sample. Bar: 5th to 95th percentile.";
    if (facts.reads.size() > 1) {
        text += fmt::format(" Speedup: time of {} / time of the read.", facts.reads.front().read);
    }
    return text;
}

}  // namespace

PagedReadPicture paged_read_picture(std::span<const ReadRow> rows, std::string_view caption) {
    PagedReadFacts facts = paged_read_facts(rows);
    PagedReadPicture picture;
    picture.heading.title = finding(facts);
    picture.heading.subtitle = shape_line(rows);
    picture.heading.foot = {how_to_read(facts)};
    if (!caption.empty()) {
        picture.heading.foot.back() += "  " + std::string(caption);
    }
    picture.chart = paged_read_chart(facts);
    picture.cost = cost_panel(facts);
    picture.job = job_panel(facts);
    picture.facts = std::move(facts);
    return picture;
}

}  // namespace nanoserve::report
