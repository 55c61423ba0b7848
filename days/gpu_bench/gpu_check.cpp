// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu_check.hpp"

#include <fmt/core.h>
#include <kernels/general/rounding_bounds.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <thread>

namespace nanoserve::gpu_bench {
namespace {

// Tokens for which the oracle is computed: a few seconds of one CPU core.
constexpr std::int64_t kCheckedTokens = 65536;

// Rows of some sequences on the host: a smaller pool, with the blocks in the order of the tables.
struct HostRows {
    std::vector<std::byte> k, v, q;
    BlockTables tables;
    KVLayout layout;
};

// Elements from the first to the last of one block.
std::int64_t block_elements(const KVLayout& layout) {
    return layout.offset(0, layout.block_size - 1, layout.num_kv_heads - 1) + layout.head_dim;
}

class Download {
  public:
    Download(const PagedAttentionParams& device, const BlockTables& tables,
             const std::vector<std::int64_t>& seqs)
        : device_(device), tables_(tables), num_elements_(block_elements(device.kv.layout)) {
        host_.layout = device.kv.layout;
        host_.layout.block_stride = num_elements_;
        host_.tables.max_blocks_per_seq = tables.max_blocks_per_seq;
        for (const std::int64_t seq : seqs) {
            add_query(seq);
            add_rows(seq);
        }
        host_.layout.num_blocks = num_blocks_;
    }

    [[nodiscard]] HostRows rows() && { return std::move(host_); }

  private:
    static void append(std::vector<std::byte>& to, const void* from, std::int64_t num_bytes) {
        const std::size_t begin = to.size();
        to.resize(begin + static_cast<std::size_t>(num_bytes));
        copy_to_host(std::span(to).subspan(begin), from);
    }

    void add_query(std::int64_t seq) {
        const std::int64_t row_bytes = std::int64_t{device_.num_q_heads} *
                                       device_.kv.layout.head_dim * bytes_of(device_.io_dtype);
        append(host_.q, static_cast<const std::byte*>(device_.q) + seq * row_bytes, row_bytes);
    }

    void add_rows(std::int64_t seq) {
        const std::int64_t bytes = bytes_of(device_.kv.layout.dtype);
        const std::int32_t seq_len = tables_.seq_lens[static_cast<std::size_t>(seq)];
        const std::int64_t used = blocks_needed(seq_len, device_.kv.layout.block_size);
        for (std::int64_t i = 0; i < tables_.max_blocks_per_seq; ++i) {
            const std::int64_t at = seq * tables_.max_blocks_per_seq + i;
            const BlockId id = tables_.block_tables[static_cast<std::size_t>(at)];
            host_.tables.block_tables.push_back(i < used ? num_blocks_++ : BlockTables::kNoBlock);
            if (i < used) {
                const std::int64_t from = device_.kv.layout.offset(id, 0, 0) * bytes;
                append(host_.k, static_cast<const std::byte*>(device_.kv.k_cache) + from,
                       num_elements_ * bytes);
                append(host_.v, static_cast<const std::byte*>(device_.kv.v_cache) + from,
                       num_elements_ * bytes);
            }
        }
        host_.tables.seq_lens.push_back(seq_len);
    }

    const PagedAttentionParams& device_;
    const BlockTables& tables_;
    std::int64_t num_elements_;  // of one block
    BlockId num_blocks_ = 0;     // so far
    HostRows host_;
};

PagedAttentionParams host_params(PagedAttentionParams params, const HostRows& host) {
    params.q = host.q.data();
    params.out = nullptr;
    params.kv = {.k_cache = host.k.data(),
                 .v_cache = host.v.data(),
                 .layout = host.layout,
                 .scales = params.kv.scales};
    set_block_tables(params, host.tables);
    return params;
}

// The part of a batch that is one sequence and one KV head with its query heads.
PagedAttentionParams one_kv_head(PagedAttentionParams params, std::int64_t seq, std::int64_t head) {
    const KVLayout& layout = params.kv.layout;
    const std::int64_t group_size = params.shape().group_size();
    const std::int64_t q_at = (seq * params.num_q_heads + head * group_size) * layout.head_dim;
    const std::int64_t kv_bytes = layout.offset(0, 0, head) * bytes_of(layout.dtype);
    params.q = static_cast<const std::byte*>(params.q) + q_at * bytes_of(params.io_dtype);
    params.kv.k_cache = static_cast<const std::byte*>(params.kv.k_cache) + kv_bytes;
    params.kv.v_cache = static_cast<const std::byte*>(params.kv.v_cache) + kv_bytes;
    params.kv.layout.num_kv_heads = 1;
    params.num_q_heads = static_cast<std::int32_t>(group_size);
    params.num_seqs = 1;
    params.seq_lens += seq;
    params.block_tables += seq * params.max_blocks_per_seq;
    return params;
}

// attention_oracle, on all cores.
OracleResult oracle_on_all_cores(const PagedAttentionParams& params) {
    const std::int64_t num_kv_heads = params.kv.layout.num_kv_heads;
    std::vector<OracleResult> parts(static_cast<std::size_t>(params.num_seqs * num_kv_heads));
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < parts.size(); i = next++) {
            const auto at = static_cast<std::int64_t>(i);
            parts[i] = attention_oracle(one_kv_head(params, at / num_kv_heads, at % num_kv_heads));
        }
    };
    {
        std::vector<std::jthread> team;
        for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) {
            team.emplace_back(work);
        }
        work();
    }
    OracleResult all;
    for (const OracleResult& part : parts) {
        all.out.insert(all.out.end(), part.out.begin(), part.out.end());
        all.lse.insert(all.lse.end(), part.lse.begin(), part.lse.end());
    }
    return all;
}

double tolerance_of(const PagedAttentionParams& host, const OracleResult& oracle) {
    switch (host.io_dtype) {
        case DType::bf16:
            return 2 * 0x1p-8;
        case DType::fp16:
            return 2 * 0x1p-11;
        default: {
            float unused = 0;
            PagedAttentionParams params = host;
            params.out = &unused;
            double largest = 0.0;
            for (const double out : oracle.out) {
                largest = std::max(largest, std::abs(out));
            }
            return paged_attention_rounding_bounds(params).out / largest;
        }
    }
}

std::vector<float> as_floats(const std::vector<std::byte>& outputs, DType dtype) {
    return visit_dtype(dtype, [&]<class T>() {
        const std::span elements(reinterpret_cast<const T*>(outputs.data()),
                                 outputs.size() / sizeof(T));
        std::vector<float> floats(elements.size());
        std::ranges::transform(elements, floats.begin(),
                               [](T element) { return to_float(element); });
        return floats;
    });
}

void require_finite(const std::string& read, const std::vector<float>& outputs) {
    const auto wrong =
        std::ranges::find_if_not(outputs, [](float element) { return std::isfinite(element); });
    if (wrong != outputs.end()) {
        throw std::runtime_error(fmt::format("{}: element {} of the outputs of all layers is {}",
                                             read, wrong - outputs.begin(), *wrong));
    }
}

}  // namespace

GpuCheck::GpuCheck(const DeviceBatch& batch)
    : batch_(batch), seqs_(seqs_to_check(batch.tables().seq_lens, kCheckedTokens)) {
    const PagedAttentionParams device = batch.params(0);
    const HostRows host = Download(device, batch.tables(), seqs_).rows();
    const PagedAttentionParams params = host_params(device, host);
    oracle_ = oracle_on_all_cores(params);
    tolerance_ = tolerance_of(params, oracle_);
}

double GpuCheck::operator()(const std::string& read, cudaStream_t stream,
                            const GraphReplay& replay) {
    batch_.poison_outputs(stream);
    replay.launch();
    outputs_ = batch_.outputs();
    const DType dtype = batch_.cell().io_dtype;
    require_finite(read, as_floats(outputs_, dtype));

    const std::int64_t row_bytes =
        batch_.query_elements() / batch_.tables().num_seqs() * bytes_of(dtype);
    std::vector<std::byte> checked;
    for (const std::int64_t seq : seqs_) {
        checked.insert(checked.end(), outputs_.begin() + seq * row_bytes,
                       outputs_.begin() + (seq + 1) * row_bytes);
    }
    const double error = relative_error(checked.data(), dtype, oracle_);
    if (!(error <= tolerance_)) {
        throw std::runtime_error(fmt::format(
            "{}: the outputs are off by {:.2g} of the largest; rounding explains {:.2g}", read,
            error, tolerance_));
    }
    return relative_norm_error(checked.data(), dtype, oracle_);
}

void GpuCheck::require_same(const std::string& read, const std::string& other_read,
                            const std::vector<std::byte>& others) const {
    const std::vector<float> mine = as_floats(outputs_, batch_.cell().io_dtype);
    const std::vector<float> theirs = as_floats(others, batch_.cell().io_dtype);
    double largest = 0.0, difference = 0.0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        const double here = std::abs(double{mine[i]} - double{theirs[i]});
        where = here > difference ? i : where;
        difference = std::max(difference, here);
        largest = std::max(largest, std::abs(double{theirs[i]}));
    }
    if (!(difference <= 2 * tolerance_ * largest)) {
        throw std::runtime_error(
            fmt::format("element {} of the outputs of all layers is {} by {} and {} by {}", where,
                        mine[where], read, theirs[where], other_read));
    }
}

}  // namespace nanoserve::gpu_bench
