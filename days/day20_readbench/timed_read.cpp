// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "timed_read.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/streaming_read.hpp>

namespace nanoserve::day20 {
namespace {

std::function<void(const PagedAttentionParams&, ReadContext&)> find_read(const std::string& name) {
    if (name == "gather") {
        return gather_read;
    }
    if (name == "fused") {
        return paged_attention_reference;
    }
    return [](const PagedAttentionParams& params, ReadContext& context) {
        streaming_read(params, context.options().num_threads, context);
    };
}

}  // namespace

TimedRead::TimedRead(const std::string& name, SyntheticHistory& history, ReadContext& context)
    : name_(name),
      read_(find_read(name)),
      history_(&history),
      context_(&context),
      out_(static_cast<std::size_t>(history.spec().shape.num_q_heads) *
           static_cast<std::size_t>(history.spec().shape.head_dim)) {}

void TimedRead::operator()() {
    PagedAttentionParams params = history_->params();
    params.out = out_.data();
    read_(params, *context_);
}

}  // namespace nanoserve::day20
