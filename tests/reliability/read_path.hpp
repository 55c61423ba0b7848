// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>

#include <kernels/general/rounding_bounds.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// One way to read the cache, behind one face: the tests of this folder run over all of them.
struct ReadPath {
    std::string name;

    /// Reads host parameters into the out and lse that they point at, wherever the work is done.
    /// Returns the status word of a kernel; reads on the CPU throw instead and return 0.
    std::function<std::uint32_t(const PagedAttentionParams&)> read;

    /// Why the path refuses these parameters; nothing when it takes them.
    std::function<std::optional<std::string>(const PagedAttentionParams&)> reason_to_refuse;

    /// How far rounding can move its results away from the oracle's.
    std::function<RoundingBounds(const PagedAttentionParams&)> bounds;

    /// Paths with the same word here give the same bits; empty: a path of its own.
    std::string same_bits = {};

    /// Whether an output lies between the smallest and the largest value up to the rounding of
    /// sums; not so where weights are rounded to 16 bits on their way to the values.
    bool keeps_the_range_of_values = true;

    /// Whether absent blocks are told, by the status word or an exception; the gather baseline of
    /// the GPU leaves them out in silence, as its contract says.
    bool tells_absent_blocks = true;

    /// A twin that lists every chunk of the pool for every head: too slow for large pools and
    /// batches.
    bool is_slow = false;

    friend std::ostream& operator<<(std::ostream& out, const ReadPath& path) {
        return out << path.name;
    }
};

/// The paths of this program: those of the CPU, or those of the GPU, as it is linked.
[[nodiscard]] std::vector<ReadPath> read_paths();

/// Whether this program's paths can run here; if not, why.
[[nodiscard]] std::optional<std::string> reason_for_no_paths();

}  // namespace nanoserve::testing
