// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/paged_attention_params.hpp>
#include <nanoserve/attention/read_context.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace nanoserve {

/// The order in which read_floor walks the history. Which is fastest depends on the machine and the
/// size, so a measurement takes all three and keeps the best.
enum class FloorOrder {
    keys_then_values,  ///< all K blocks, then all V blocks: as a two-pass read does
    block_by_block,    ///< K and V of a block together: as a one-pass read does
    prefetched,        ///< block by block, asking for the next block while this one is summed
};

/// All orders, for a loop over them.
inline constexpr std::array kFloorOrders = {FloorOrder::keys_then_values,
                                            FloorOrder::block_by_block, FloorOrder::prefetched};

/// "keys then values", "block by block" or "prefetched".
[[nodiscard]] std::string_view to_string(FloorOrder order);

/// Loads every K and V row that a read has to load, through the same block tables, and does nothing
/// but add up their bits: the time that no read can go below. q, out, lse and sm_scale are not used
/// and may be null.
/// @return the sum of all 32-bit words of the rows, modulo 2^32: the same for every order,
/// instruction set
///         and number of threads
/// @throws std::invalid_argument as validate(const PagedAttentionParams&) does; also when a row of
/// head_dim elements is
///         no multiple of 4 bytes
[[nodiscard]] std::uint32_t read_floor(PagedAttentionParams params, FloorOrder order,
                                       ReadContext& context = default_read_context());

}  // namespace nanoserve
