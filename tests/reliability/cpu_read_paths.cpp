// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The reads of the CPU, on every instruction set that is here, and the CPU twin of the first
// kernel. The contexts live as long as the program, so that a read finds the scratch memory of
// others before it.
#include "reliability/read_path.hpp"
#include "reliability/refusal_of.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/rounding_bound.hpp>
#include <nanoserve/attention/streaming_read.hpp>
#include <nanoserve/model/require.hpp>

#include <kernels/general/config.hpp>
#include <kernels/general/twin.hpp>
#include <kernels/shared_heads/config.hpp>
#include <kernels/shared_heads/rounding_bounds.hpp>
#include <kernels/shared_heads/twin.hpp>

#include <memory>

namespace nanoserve::testing {
namespace {

using Context = std::shared_ptr<ReadContext>;

std::optional<std::string> takes_everything(const PagedAttentionParams& /*params*/) {
    return {};
}

RoundingBounds two_pass_bounds(const PagedAttentionParams& p) {
    return {.out = rounding_bound(p), .lse = lse_rounding_bound(p)};
}

// For a read that has no rules.
auto refuses_rules(const char* read) {
    return [read](const PagedAttentionParams& p) {
        return refusal_of([&] { require_no_rules(p.rules, read); });
    };
}

ReadPath two_pass_path(
    std::string name, const Context& context,
    void (*read)(const PagedAttentionParams&, ReadContext&),
    std::function<std::optional<std::string>(const PagedAttentionParams&)> reason) {
    return {.name = std::move(name),
            .read =
                [context, read](const PagedAttentionParams& p) {
                    read(p, *context);
                    return 0u;
                },
            .reason_to_refuse = std::move(reason),
            .bounds = two_pass_bounds,
            .same_bits = "two passes"};
}

// Streaming may depend on the instruction set, not on the threads.
ReadPath streaming_path(const std::string& how, const Context& context, std::int64_t num_splits) {
    return {.name = join_text("streaming_read", how, ", num_splits ", num_splits),
            .read =
                [context, num_splits](const PagedAttentionParams& p) {
                    streaming_read(p, num_splits, *context);
                    return 0u;
                },
            .reason_to_refuse = refuses_rules("streaming_read"),
            .bounds =
                [num_splits](const PagedAttentionParams& p) {
                    return RoundingBounds{.out = streaming_rounding_bound(p, num_splits),
                                          .lse = streaming_lse_rounding_bound(p, num_splits)};
                },
            .same_bits = join_text("streaming ", to_string(context->options().instruction_set), " ",
                                   num_splits)};
}

std::optional<std::string> reason_not_to_twin(const PagedAttentionParams& p) {
    return refusal_of([&] { (void)make_paged_attention_args(p, nullptr); });
}

ReadPath general_twin(ThreadOrder order) {
    return {.name = "twin of general_attention",
            .read = [order](const auto& p) { return paged_attention_twin(p, order).status; },
            .reason_to_refuse = reason_not_to_twin,
            .bounds = paged_attention_rounding_bounds,
            .same_bits = "general"};
}

ReadPath shared_heads_twin_path(ThreadOrder order) {
    return {.name = "twin of shared_heads_attention",
            .read = [order](const auto& p) { return shared_heads_twin(p, order).status; },
            .reason_to_refuse = reason_not_to_share_heads,
            .bounds = [](const auto& p) { return shared_heads_rounding_bounds(p); },
            .same_bits = "shared heads",
            .is_slow = true};
}

ReadPath split_kv_twin_path(ThreadOrder order, std::int32_t num_splits) {
    return {.name = join_text("twin of split_kv_attention, num_splits ", num_splits),
            .read = [=](const auto& p) { return split_kv_twin(p, num_splits, order).status; },
            .reason_to_refuse = reason_not_to_share_heads,
            .bounds = [=](const auto& p) { return shared_heads_rounding_bounds(p, num_splits); },
            .same_bits = join_text("split kv ", num_splits),
            .is_slow = true};
}

}  // namespace

std::vector<ReadPath> read_paths() {
    static const std::vector<ReadPath> paths = [] {
        std::vector<ReadPath> all;
        for (const InstructionSet set : available_instruction_sets()) {
            for (const int num_threads : {1, 8}) {
                const auto context = std::make_shared<ReadContext>(
                    ReadOptions{.num_threads = num_threads, .instruction_set = set});
                const std::string how =
                    join_text(" (", to_string(set), ", ", num_threads, " threads)");
                all.push_back(two_pass_path("gather_read" + how, context, gather_read,
                                            refuses_rules("gather_read")));
                all.push_back(two_pass_path("paged_attention_reference" + how, context,
                                            paged_attention_reference, takes_everything));
                for (const std::int64_t num_splits : {1, 7, 8}) {
                    all.push_back(streaming_path(how, context, num_splits));
                }
            }
        }
        for (const ThreadOrder order : {ThreadOrder::ascending, ThreadOrder::descending}) {
            all.push_back(general_twin(order));
            all.push_back(shared_heads_twin_path(order));
            all.push_back(split_kv_twin_path(order, 2));
            all.push_back(split_kv_twin_path(order, 5));
        }
        return all;
    }();
    return paths;
}

std::optional<std::string> reason_for_no_paths() {
    return {};
}

}  // namespace nanoserve::testing
