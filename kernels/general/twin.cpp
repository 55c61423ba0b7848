// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/general/attend_head.hpp>
#include <kernels/general/config.hpp>
#include <kernels/general/counting_memory.hpp>
#include <kernels/general/twin.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace nanoserve {
namespace {

//! [serial team]
// The Team of attend_head on the CPU: a barrier is the end of a loop over all threads.
template <int kNumThreads>
struct SerialTeam {
    template <class T>
    struct PerThread {
        std::array<T, kNumThreads> values;
        T& operator[](int thread) { return values[static_cast<std::size_t>(thread)]; }
    };

    ThreadOrder order;

    template <class Step>
    void each(Step step) const {
        for (int i = 0; i < kNumThreads; ++i) {
            step(order == ThreadOrder::ascending ? i : kNumThreads - 1 - i);
        }
    }
};
//! [serial team]

// Shared memory as a thread block finds it: nothing in it may be used before it is written.
template <class Config>
PagedAttentionShared<Config> poisoned_shared() {
    PagedAttentionShared<Config> shared;
    const auto poison = [](float& x) { x = std::numeric_limits<float>::quiet_NaN(); };
    std::ranges::for_each(shared.q, poison);
    for (auto& row : shared.partial_dots) {
        std::ranges::for_each(row, poison);
    }
    std::ranges::for_each(shared.scores, poison);
    std::ranges::for_each(shared.weights, poison);
    std::ranges::for_each(shared.partial_sums, poison);
    for (auto& row : shared.partial_outs) {
        std::ranges::for_each(row, poison);
    }
    return shared;
}

}  // namespace

AccessReport paged_attention_twin(const PagedAttentionParams& params, ThreadOrder order) {
    const PagedAttentionArgs args = make_paged_attention_args(params, nullptr);
    AccessReport report = {.layout = params.kv.layout,
                           .num_seqs = params.num_seqs,
                           .num_q_heads = params.num_q_heads,
                           .heads = {}};
    report.heads.resize(static_cast<std::size_t>(params.num_seqs * params.num_q_heads));
    visit_dtype(params.kv.layout.dtype, [&]<class T>() {
        visit_paged_attention_config(params.kv.layout.head_dim, [&]<class Config>() {
            for (std::int64_t i = 0; i < std::ssize(report.heads); ++i) {  // i is blockIdx.x
                const auto head = static_cast<std::int32_t>(i % params.num_q_heads);
                const QueryHead query = {.seq = i / params.num_q_heads,
                                         .head = head,
                                         .kv_head = head / params.shape().group_size()};
                SerialTeam<Config::kNumThreads> team{order};
                CountingMemory<T> memory(params, query.seq, query.kv_head,
                                         report.heads[static_cast<std::size_t>(i)], report.status);
                auto shared = poisoned_shared<Config>();
                attend_head<Config>(args, query, team, memory, shared);
            }
        });
    });
    return report;
}

}  // namespace nanoserve
