// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu_check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace nanoserve::day21 {
namespace {

// Tokens for which the oracle is computed: a few seconds of one CPU core.
constexpr std::int64_t kCheckedTokens = 65536;

std::vector<std::int64_t> spread_seqs(std::int64_t num_seqs, std::int64_t seq_len) {
    const std::int64_t count = std::clamp<std::int64_t>(kCheckedTokens / seq_len, 1, num_seqs);
    std::vector<std::int64_t> seqs;
    for (std::int64_t i = 0; i < count; ++i) {
        seqs.push_back(i * num_seqs / count);
    }
    return seqs;
}

// Rows of some sequences on the host: a smaller pool, with the blocks in the order of the tables.
struct HostRows {
    std::vector<Bf16> k, v, q;
    BlockTables tables;
};

HostRows download(const PagedAttentionParams& device, const BlockTables& tables,
                  const std::vector<std::int64_t>& seqs) {
    const auto block_elements = static_cast<std::size_t>(device.kv.layout.block_stride);
    const auto num_blocks = seqs.size() * static_cast<std::size_t>(tables.max_blocks_per_seq);
    const std::int64_t row = std::int64_t{device.num_q_heads} * device.kv.layout.head_dim;
    HostRows host{
        .k = std::vector<Bf16>(num_blocks * block_elements),
        .v = std::vector<Bf16>(num_blocks * block_elements),
        .q = std::vector<Bf16>(seqs.size() * static_cast<std::size_t>(row)),
        .tables = {
            .block_tables = {}, .seq_lens = {}, .max_blocks_per_seq = tables.max_blocks_per_seq}};
    std::size_t at = 0;
    for (const std::int64_t seq : seqs) {
        const std::size_t q_at = host.tables.seq_lens.size() * static_cast<std::size_t>(row);
        copy_to_host(
            std::as_writable_bytes(std::span(host.q).subspan(q_at, static_cast<std::size_t>(row))),
            static_cast<const Bf16*>(device.q) + seq * row);
        for (std::int64_t i = 0; i < tables.max_blocks_per_seq; ++i) {
            const std::int64_t id =
                tables.block_tables[static_cast<std::size_t>(seq * tables.max_blocks_per_seq + i)];
            const std::int64_t from = device.kv.layout.offset(id, 0, 0);
            for (const auto& [to, pool] :
                 {std::pair{&host.k, device.kv.k_cache}, std::pair{&host.v, device.kv.v_cache}}) {
                copy_to_host(std::as_writable_bytes(
                                 std::span(*to).subspan(at * block_elements, block_elements)),
                             static_cast<const Bf16*>(pool) + from);
            }
            host.tables.block_tables.push_back(static_cast<BlockId>(at++));
        }
        host.tables.seq_lens.push_back(tables.seq_lens[static_cast<std::size_t>(seq)]);
    }
    return host;
}

void require_finite(const char* read, const std::vector<Bf16>& outputs) {
    const auto wrong = std::ranges::find_if_not(
        outputs, [](Bf16 element) { return std::isfinite(to_float(element)); });
    if (wrong != outputs.end()) {
        throw std::runtime_error(fmt::format("{}: element {} of the outputs of all layers is {}",
                                             read, wrong - outputs.begin(), to_float(*wrong)));
    }
}

}  // namespace

GpuCheck::GpuCheck(const DeviceBatch& batch)
    : batch_(batch),
      seqs_(spread_seqs(batch.tables().num_seqs(), batch.tables().seq_lens.front())),
      oracle_(oracle_of_checked_seqs()) {}

OracleResult GpuCheck::oracle_of_checked_seqs() const {
    PagedAttentionParams params = batch_.params(0);
    const HostRows host = download(params, batch_.tables(), seqs_);
    params.q = host.q.data();
    params.out = nullptr;
    params.kv.k_cache = host.k.data();
    params.kv.v_cache = host.v.data();
    params.kv.layout.num_blocks = static_cast<std::int32_t>(host.tables.block_tables.size());
    set_block_tables(params, host.tables);
    return attention_oracle(params);
}

double GpuCheck::operator()(const char* read, cudaStream_t stream, const GraphReplay& replay) {
    batch_.poison_outputs(stream);
    replay.launch();
    outputs_ = batch_.outputs();
    require_finite(read, outputs_);

    const std::int64_t row = batch_.query_elements() / batch_.tables().num_seqs();
    std::vector<Bf16> checked;
    for (const std::int64_t seq : seqs_) {
        checked.insert(checked.end(), outputs_.begin() + seq * row,
                       outputs_.begin() + (seq + 1) * row);
    }
    const double error = relative_error(checked.data(), DType::bf16, oracle_);
    if (!(error <= kTolerance)) {
        throw std::runtime_error(fmt::format(
            "{}: the outputs are off by {:.2g} of the largest; rounding explains {:.2g}", read,
            error, kTolerance));
    }
    return error;
}

void require_same(const std::vector<Bf16>& kernel, const std::vector<Bf16>& gather) {
    double largest = 0.0, difference = 0.0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
        const double here = std::abs(double{to_float(kernel[i])} - double{to_float(gather[i])});
        where = here > difference ? i : where;
        difference = std::max(difference, here);
        largest = std::max(largest, std::abs(double{to_float(gather[i])}));
    }
    if (!(difference <= 2 * GpuCheck::kTolerance * largest)) {
        throw std::runtime_error(
            fmt::format("element {} of the outputs of all layers is {} by the "
                        "kernel and {} gathered",
                        where, to_float(kernel[where]), to_float(gather[where])));
    }
}

}  // namespace nanoserve::day21
