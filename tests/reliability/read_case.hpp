// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reliability/read_path.hpp"
#include "support/paged_case.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// One random read: a case of scattered, shared and repeated blocks and a factor on q.k.
struct ReadCase {
    PagedCase data;
    std::optional<float> sm_scale;

    /// Parameters over poisoned outputs.
    [[nodiscard]] PagedAttentionParams params();
    [[nodiscard]] std::string describe() const;
};

/// The case of a seed. Heads, head_dim, block_size, lengths (0, 1, the edges of a block and
/// anything), storage types, order and padding of the pools, padding of q, magnitudes of q, K and
/// V, and the scale are drawn; tables then get entries that stand twice and blocks of other
/// sequences.
[[nodiscard]] ReadCase random_read_case(std::uint32_t seed);

/// Reads the case of `seed` over every path that takes it, and asks of each:
///   - out and lse are the oracle's within the path's bounds;
///   - out lies between the smallest and the largest value, however large the scores are;
///   - paths that promise the same bits have them;
///   - what the path refuses, it refuses by its reason, and writes nothing.
/// @return the first fault with the case's seed and all its parameters, or nothing
[[nodiscard]] std::optional<std::string> fault_of_read_case(std::uint32_t seed,
                                                            const std::vector<ReadPath>& paths);

}  // namespace nanoserve::testing
