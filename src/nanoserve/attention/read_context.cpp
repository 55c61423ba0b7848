// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/read_state.hpp>
#include <nanoserve/attention/read_context.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>

namespace nanoserve {
namespace detail {

ReadState::ReadState(const ReadOptions& options)
    : instruction_set_(options.instruction_set),
      team_(options.num_threads),
      works_(static_cast<std::size_t>(options.num_threads)),
      stream_works_(static_cast<std::size_t>(options.num_threads)) {}

const RowOps& ReadState::row_ops(DType dtype) const {
    return detail::row_ops(instruction_set_, dtype);
}

void ReadState::for_each_share_of_heads(const AttentionShape& shape, const KVScales& scales,
                                        const ScoreRules& rules, std::int64_t num_tokens,
                                        const std::function<void(HeadWork&)>& task) {
    for (int i = 0; i < team_.num_threads(); ++i) {
        const Share heads = share_of(shape.num_kv_heads, i, team_.num_threads());
        works_[static_cast<std::size_t>(i)].reserve(shape, scales, rules, heads, num_tokens);
    }
    team_.run([&](int index) { task(works_[static_cast<std::size_t>(index)]); });
}

}  // namespace detail

namespace {

const ReadOptions& checked(const ReadOptions& options) {
    require(options.num_threads >= 1 && options.num_threads <= 1024, "num_threads is ",
            options.num_threads, "; it must be from 1 to 1024");
    const auto available = available_instruction_sets();
    require(std::ranges::find(available, options.instruction_set) != available.end(),
            "instruction set ", to_string(options.instruction_set),
            " is not one that this processor has");
    return options;
}

}  // namespace

ReadContext::ReadContext(const ReadOptions& options)
    : options_(checked(options)), state_(std::make_unique<detail::ReadState>(options)) {}
ReadContext::ReadContext(ReadContext&&) noexcept = default;
ReadContext& ReadContext::operator=(ReadContext&&) noexcept = default;
ReadContext::~ReadContext() = default;

detail::ReadState& ReadContext::state() {
    require(state_ != nullptr, "the ReadContext was moved from");
    return *state_;
}

ReadContext& default_read_context() {
    thread_local ReadContext context;
    return context;
}

}  // namespace nanoserve
