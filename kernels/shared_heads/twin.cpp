// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <kernels/shared_heads/attend_group.hpp>
#include <kernels/shared_heads/counting_chunks.hpp>
#include <kernels/shared_heads/twin.hpp>
#include <kernels/split_kv/partials.hpp>
#include <kernels/split_kv/split_history.hpp>
#include <kernels/split_kv/write_output.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace nanoserve {
namespace {

template <class Step>
void run_each(int count, ThreadOrder order, const Step& step) {
    for (int i = 0; i < count; ++i) {
        step(order == ThreadOrder::ascending ? i : count - 1 - i);
    }
}

//! [serial warp]
// The Warp of attend_group on the CPU: a shuffle is a copy of what all lanes have.
class SerialWarp {
  public:
    template <class T>
    struct PerLane {
        std::array<T, 32> values;
        T& operator[](int lane) { return values[static_cast<std::size_t>(lane)]; }
    };

    SerialWarp(int index, ThreadOrder order) : index_(index), order_(order) {}

    [[nodiscard]] int index() const { return index_; }

    template <class Step>
    void each(const Step& step) const {
        run_each(32, order_, step);
    }

    template <class T>
    [[nodiscard]] PerLane<T> exchanged(PerLane<T>& mine, int distance) const {
        PerLane<T> others;
        for (int lane = 0; lane < 32; ++lane) {
            others[lane] = mine[lane ^ distance];
        }
        return others;
    }

  private:
    int index_;
    ThreadOrder order_;
};
//! [serial warp]

// The Block of attend_group on the CPU: one warp after the other, then one thread after the other.
template <class Config>
struct SerialBlock {
    ThreadOrder order;

    template <class Step>
    void each_warp(const Step& step) const {
        run_each(Config::kNumWarps, order, [&](int index) {
            SerialWarp warp(index, order);
            step(warp);
        });
    }
    template <class Step>
    void each(const Step& step) const {
        run_each(Config::kNumThreads, order, step);
    }
};

// Shared memory as a thread block finds it: nothing in it may be used before it is written.
template <class Config>
SharedHeadsShared<Config> poisoned_shared() {
    constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
    SharedHeadsShared<Config> shared;
    for (int warp = 0; warp < Config::kNumWarps; ++warp) {
        std::ranges::fill(shared.max[warp], kPoison);
        std::ranges::fill(shared.sum[warp], kPoison);
        for (auto& row : shared.out[warp]) {
            std::ranges::fill(row, kPoison);
        }
    }
    return shared;
}

// All thread blocks that read split `split_idx` of the histories. `result` takes their sums as
// attend_group's does.
template <class Result>
void attend_split(const SharedHeadsArgs& args, std::int32_t num_splits, std::int32_t split_idx,
                  ThreadOrder order, AccessReport& report, const Result& result) {
    visit_shared_heads_config(args, [&]<class Config>() {
        const auto num_blocks = static_cast<std::int32_t>(num_group_blocks(args.params));
        for (std::int32_t i = 0; i < num_blocks; ++i) {  // i is blockIdx.x
            const QueryGroup group = group_of_block<Config>(args, i);
            HeadAccess& access = report.heads[static_cast<std::size_t>(
                group.seq * report.num_q_heads + group.kv_head)];
            CountingChunks<typename Config::T> memory(args, group.seq, group.kv_head, access,
                                                      report.status);
            const TokenRange tokens =
                split_range(visible_tokens_of(args, memory), num_splits, split_idx);
            SerialBlock<Config> block{order};
            auto shared = poisoned_shared<Config>();
            attend_group<Config>(args, group, tokens, block, memory, shared, result);
        }
    });
}

AccessReport empty_report(const PagedAttentionParams& params) {
    const KVLayout& layout = params.kv.layout;
    AccessReport report = {.layout = layout,
                           .num_seqs = params.num_seqs,
                           .num_q_heads = layout.num_kv_heads,
                           .heads = {}};
    report.heads.resize(static_cast<std::size_t>(params.num_seqs * layout.num_kv_heads));
    return report;
}

}  // namespace

AccessReport shared_heads_twin(const PagedAttentionParams& params, ThreadOrder order) {
    const SharedHeadsArgs args = make_shared_heads_args(params, nullptr);
    AccessReport report = empty_report(params);
    attend_split(args, 1, 0, order, report,
                 [&](std::int64_t row, std::int32_t d, const ElementSums& sums) {
                     write_element(params, row, d, sums);
                 });
    return report;
}

AccessReport split_kv_twin(const PagedAttentionParams& params, std::int32_t num_splits,
                           ThreadOrder order) {
    const SharedHeadsArgs args = make_shared_heads_args(params, nullptr);
    AccessReport report = empty_report(params);
    // Poisoned, and float arrays start where partials_in wants them: new gives 16 bytes.
    const std::size_t bytes = partials_bytes(params, num_splits);
    std::vector<float> workspace(bytes / sizeof(float), std::numeric_limits<float>::quiet_NaN());
    const Partials partials = partials_in(params, num_splits, workspace.data(), bytes);
    for (std::int32_t split_idx = 0; split_idx < num_splits; ++split_idx) {
        attend_split(args, num_splits, split_idx, order, report,
                     [&](std::int64_t row, std::int32_t d, const ElementSums& sums) {
                         partials.store(row, split_idx, d, sums);
                     });
    }
    for (std::int64_t row = 0; row < params.num_seqs * params.num_q_heads; ++row) {
        for (std::int32_t d = 0; d < params.kv.layout.head_dim; ++d) {
            merge_element(params, partials, row, d);
        }
    }
    return report;
}

}  // namespace nanoserve
