// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/attention/detail/head_work.hpp>
#include <nanoserve/attention/detail/stream_work.hpp>
#include <nanoserve/attention/detail/thread_team.hpp>
#include <nanoserve/attention/read_context.hpp>

#include <functional>
#include <vector>

namespace nanoserve::detail {

/// What a ReadContext owns.
class ReadState {
  public:
    explicit ReadState(const ReadOptions& options);

    [[nodiscard]] const RowOps& row_ops(DType dtype) const;
    [[nodiscard]] InstructionSet instruction_set() const { return instruction_set_; }
    [[nodiscard]] ThreadTeam& team() { return team_; }

    /// Splits the KV heads over the threads and calls task(work) on each; `work` has room for
    /// num_tokens scores, to which `rules` apply.
    void for_each_share_of_heads(const AttentionShape& shape, const KVScales& scales,
                                 const ScoreRules& rules, std::int64_t num_tokens,
                                 const std::function<void(HeadWork&)>& task);

    /// The running softmaxes of thread `index`, for streaming_read.
    [[nodiscard]] StreamWork& stream_work(int index) {
        return stream_works_[static_cast<std::size_t>(index)];
    }

    /// Where streaming_read puts the results of its pieces; kept and grown.
    struct Partials {
        FloatBuffer out, lse;
    } partials;

    /// Where gather_read puts the contiguous history; kept and grown.
    struct Gathered {
        FloatBuffer k, v;
        std::vector<std::uint8_t> mask;
    } gathered;

  private:
    InstructionSet instruction_set_;
    ThreadTeam team_;
    std::vector<HeadWork> works_;
    std::vector<StreamWork> stream_works_;
};

}  // namespace nanoserve::detail
