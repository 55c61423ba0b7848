// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Any text as the peers' figures, and behind a form feed our own: claims and a picture, or a
// refusal of one line.
#include "fuzz_target.hpp"

#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/peer_comparison.hpp>
#include <nanoserve/report/plot/peers_picture.hpp>
#include <nanoserve/report/plot/peers_script.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace nanoserve;
using namespace nanoserve::fuzz;

namespace {

std::vector<report::PeerCell> read_cells(std::string_view text) {
    const std::size_t end = std::min(text.find('\f'), text.size());
    const auto peers = report::parse_peers(text.substr(0, end));
    const auto rows = report::parse_csv(text.substr(std::min(end + 1, text.size())));
    return report::compare_with_peers(rows, "paged_attention", peers);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const std::vector<report::PeerCell> cells = read_cells(text_of(data, size));
        for (const report::PeerCell& cell : cells) {
            require_property(!cell.peers.empty(), "a cell has a peer");
        }
        static_cast<void>(report::format_claims(report::claims_of(cells)));
        const auto picture = report::peers_picture(cells, {"a source"});
        require_property(!report::peers_script(picture).empty(), "a picture has a script");
    } catch (const report::FileError& error) {
        require_one_line(error.what());
    } catch (const std::invalid_argument& error) {
        require_one_line(error.what());
    }
    return 0;
}
