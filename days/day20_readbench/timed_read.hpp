// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A read as a closure that the harness can call.
#pragma once

#include <nanoserve/attention/read_context.hpp>
#include <nanoserve/attention/synthetic_history.hpp>

#include <functional>
#include <string>
#include <vector>

namespace nanoserve::day20 {

/// One read with its output; calling it reads the current history. Borrows history and context.
class TimedRead {
  public:
    /// `name` is "gather", "fused" or "streaming" (in as many pieces as the context has threads).
    TimedRead(const std::string& name, SyntheticHistory& history, ReadContext& context);

    void operator()();

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::vector<float>& out() { return out_; }
    [[nodiscard]] const std::vector<float>& out() const { return out_; }

  private:
    std::string name_;
    std::function<void(const PagedAttentionParams&, ReadContext&)> read_;
    SyntheticHistory* history_;
    ReadContext* context_;
    std::vector<float> out_;
};

}  // namespace nanoserve::day20
