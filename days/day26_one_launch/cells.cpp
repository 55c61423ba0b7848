// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "cells.hpp"

#include <initializer_list>

namespace nanoserve::day26 {
namespace {

using gpu_bench::Pattern;
using gpu_bench::PoolOrder;
using gpu_bench::ReadCell;

// A history of `longest` tokens among short ones.
ReadCell skewed(const AttentionShape& shape) {
    return {.shape = shape,
            .num_seqs = 64,
            .seq_len = 1024,
            .pattern = Pattern::skewed,
            .longest = 65536};
}

}  // namespace

std::vector<ReadCell> other_cells() {
    struct Batch {
        std::int64_t num_seqs, seq_len;
    };
    constexpr AttentionShape kShape64 = {32, 8, 64}, kShape128 = {32, 8, 128};
    constexpr Batch kBatches[] = {{1, 4096}, {64, 1024}, {64, 4096}};
    std::vector<ReadCell> cells;
    const auto add = [&](const ReadCell& cell, auto... batches) {
        for (const Batch& batch : {batches...}) {
            cells.push_back(cell);
            cells.back().num_seqs = batch.num_seqs;
            cells.back().seq_len = batch.seq_len;
        }
    };
    const auto add_all = [&](const ReadCell& cell) {
        add(cell, kBatches[0], kBatches[1], kBatches[2]);
    };
    add_all({.shape = {32, 32, 128}});  // a group of 1
    add_all({.shape = {40, 8, 128}});   // groups of 5, 7, 8, 16
    add_all({.shape = {28, 4, 128}});
    add_all({.shape = {64, 8, 128}});
    add_all({.shape = {32, 2, 128}});
    add_all({.shape = {32, 8, 96}});  // other rows
    add_all({.shape = {16, 8, 192}});
    add_all({.shape = {16, 8, 256}});
    add_all({.shape = kShape128, .dtype = DType::fp16, .io_dtype = DType::fp16});
    add_all({.shape = kShape64, .dtype = DType::fp32, .io_dtype = DType::fp32});
    // Other blocks and orders, each at batches of its own.
    add({.shape = kShape64, .block_size = 1}, Batch{1, 4096}, Batch{64, 1024});
    add({.shape = kShape64, .block_size = 8}, Batch{8, 4096}, Batch{64, 4096});
    add({.shape = kShape128, .block_size = 64}, Batch{1, 4096}, Batch{64, 1024});
    add({.shape = kShape128, .block_size = 128}, Batch{8, 4096}, Batch{64, 4096});
    add({.shape = kShape128, .order = PoolOrder::hnd}, Batch{1, 16384}, Batch{32, 4096});
    add({.shape = kShape64, .order = PoolOrder::hnd}, Batch{1, 16384}, Batch{32, 4096});
    return cells;
}

std::vector<ReadCell> plan_cells() {
    std::vector<ReadCell> cells;
    for (const std::int32_t head_dim : {64, 128}) {
        for (const DType dtype : {DType::bf16, DType::fp8_e4m3}) {
            const auto add = [&](Pattern pattern, std::int64_t seq_len,
                                 std::initializer_list<std::int64_t> batches) {
                for (const std::int64_t num_seqs : batches) {
                    cells.push_back({.shape = {32, 8, head_dim},
                                     .num_seqs = num_seqs,
                                     .seq_len = seq_len,
                                     .pattern = pattern,
                                     .dtype = dtype});
                }
            };
            add(Pattern::uniform, 256, {1, 8, 64, 256});
            add(Pattern::uniform, 1024, {1, 2, 4, 8, 16, 32, 64, 128, 256});
            add(Pattern::uniform, 4096, {1, 2, 4, 8, 16, 32, 64, 128, 256});
            add(Pattern::uniform, 16384, {8, 64});
            add(Pattern::ragged, 1024, {16, 64, 256});
            add(Pattern::ragged, 4096, {16, 64});
            add(Pattern::ragged, 16384, {64});
        }
    }
    return cells;
}

std::vector<ReadCell> road_cells() {
    std::vector<ReadCell> cells;
    for (const std::int32_t head_dim : {64, 128}) {
        const AttentionShape shape = {32, 8, head_dim};
        for (const ReadCell& cell : gpu_bench::peer_cells(shape)) {
            cells.push_back(cell);
        }
        cells.push_back(skewed(shape));
    }
    return cells;
}

}  // namespace nanoserve::day26
