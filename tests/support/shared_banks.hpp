// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace nanoserve::testing {

/// How often shared memory must answer before all of these 16-byte chunks are read or written: in
/// one answer each of the 32 banks gives one word of 4 bytes. 1 is as fast as it gets for up to 8
/// chunks.
inline std::size_t num_answers(const std::vector<unsigned>& addresses) {
    std::map<unsigned, std::set<unsigned>> words_of_bank;
    for (const unsigned address : addresses) {
        for (unsigned byte = address; byte < address + 16; byte += 4) {
            words_of_bank[byte / 4 % 32].insert(byte / 4);
        }
    }
    std::size_t most = 0;
    for (const auto& [bank, words] : words_of_bank) {
        most = std::max(most, words.size());
    }
    return most;
}

}  // namespace nanoserve::testing
