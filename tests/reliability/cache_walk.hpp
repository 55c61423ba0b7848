// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reliability/cache_model.hpp"
#include "reliability/failing_new.hpp"

#include <nanoserve/model/require.hpp>

#include <concepts>
#include <functional>
#include <new>
#include <random>
#include <stdexcept>
#include <utility>

namespace nanoserve::testing {

/// A cache and how it is walked.
struct WalkSpec {
    std::uint32_t seed = 1;
    std::int32_t num_layers = 1;
    KVLayout layout;
    std::int64_t max_seqs = 8;
    int max_prefill = 16;  ///< tokens of one write
};

/// The walk of a seed: layers, block_size, storage type, order and padding of a small pool are
/// drawn.
[[nodiscard]] WalkSpec random_walk_spec(std::uint32_t seed);

[[nodiscard]] std::string to_string(const WalkSpec& spec);

/// A random walk of prefill, append, fork, free, misuse and moves over a cache, beside a model.
/// Some writes are tried with every smaller number of free blocks first, and some operations with
/// each of their allocations failing: what does not happen must leave the cache as it was, bit for
/// bit. `Cache` is PagedKVCache, or one that does something wrong.
template <class Cache = PagedKVCache>
class CacheWalk {
  public:
    explicit CacheWalk(const WalkSpec& spec)
        : spec_(spec),
          random_(spec.seed),
          cache_(spec.num_layers, spec.layout),
          model_(spec.num_layers, spec.layout) {
        for (std::int32_t layer = 0; is_fp8() && layer < spec.num_layers; ++layer) {
            cache_.set_scales(layer, scales_of(layer));
        }
    }

    /// One operation. Returns the first fault, or nothing.
    [[nodiscard]] std::optional<std::string> step() {
        fault_.reset();
        choose_operation();
        look_at_scales();
        return fault_ ? fault_ : fault_of_cache(cache_, model_);
    }

    /// Ends all sequences; every block must be free then.
    [[nodiscard]] std::optional<std::string> finish() {
        while (!model_.sequences().empty()) {
            free(model_.sequences().begin()->first);
        }
        return fault_of_cache(cache_, model_);
    }

    [[nodiscard]] std::int64_t num_refused() const { return num_refused_; }
    [[nodiscard]] std::int64_t num_failed_allocations() const { return num_failed_allocations_; }

  private:
    void choose_operation() {
        if (model_.sequences().empty()) {
            return add();
        }
        switch (pick(12)) {
            case 0:
                return std::ssize(model_.sequences()) < spec_.max_seqs ? add() : free(pick_seq());
            case 1:
                return std::ssize(model_.sequences()) < spec_.max_seqs ? fork(pick_seq())
                                                                       : free(pick_seq());
            case 2:
                return free(pick_seq());
            case 3:
                return misuse(pick_seq());
            case 4:
                return move();
            case 5:
            case 6:
                return write(pick_seq(), pick(spec_.max_prefill + 1));
            default:
                return write(pick_seq(), 1);
        }
    }

    [[nodiscard]] bool is_fp8() const { return spec_.layout.dtype == DType::fp8_e4m3; }

    // A scale of its own for K and V of each layer; 3 is no power of two, so that it rounds.
    [[nodiscard]] static KVScales scales_of(std::int32_t layer) {
        const float scale = 3.0f + static_cast<float>(layer);
        return {.k = {.tensor = scale}, .v = {.tensor = 1.0f / scale}};
    }

    void look_at_scales() {
        for (std::int32_t layer = 0; is_fp8() && layer < spec_.num_layers; ++layer) {
            const KVScales scales = cache_.view(layer).scales;
            if (scales.k.of_head(0) != scales_of(layer).k.tensor ||
                scales.v.of_head(0) != scales_of(layer).v.tensor) {
                blame("the scales are not those that were set");
            }
        }
    }

    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

    SeqId pick_seq() {
        auto entry = model_.sequences().begin();
        std::advance(entry, pick(static_cast<int>(model_.sequences().size())));
        return entry->first;
    }

    void blame(const std::string& fault) {
        if (!fault_) {
            fault_ = fault;
        }
    }

    void require_unchanged(const CacheState& before, const char* what) {
        if (state_of(cache_, model_) != before) {
            blame(join_text(what, " changed the cache"));
        }
    }

    // Runs the operation; every fourth time first with each of its allocations failing.
    template <std::invocable Operation>
    auto run(const char* name, Operation operation) {
        for (int num_good = 0; pick(4) == 0 || num_good > 0; ++num_good) {
            const CacheState before = state_of(cache_, model_);
            try {
                const FailingNew failing(num_good);
                return operation();
            } catch (const std::bad_alloc&) {
                ++num_failed_allocations_;
                require_unchanged(before, join_text(name, " whose memory fails").c_str());
            }
        }
        return operation();
    }

    void add() {
        model_.add(run("add_sequence", [&] { return cache_.add_sequence(); }));
    }

    void fork(SeqId parent) {
        model_.fork(parent, run("fork", [&] { return cache_.fork(parent); }));
    }

    void free(SeqId seq) {
        cache_.free(seq);
        model_.free(seq);
        last_freed_ = seq;
    }

    void move() {
        Cache elsewhere = std::move(cache_);
        if (cache_.num_seqs() != 0) {  // NOLINT(bugprone-use-after-move): this is what is tested
            blame("a moved-from cache holds sequences");
        }
        cache_ = std::move(elsewhere);
    }

    // A write of num_tokens tokens into a random layer; every third one is squeezed first.
    void write(SeqId seq, int num_tokens) {
        const auto layer = static_cast<std::int32_t>(pick(spec_.num_layers));
        if (pick(3) == 0) {
            squeeze(seq, layer, num_tokens);
        }
        try_write(seq, layer, num_tokens);
    }

    // Tries the write with 0, 1, ... free blocks, as long as those are too few.
    void squeeze(SeqId seq, std::int32_t layer, int num_tokens) {
        const std::int64_t wanted = model_.blocks_wanted(seq, layer, num_tokens);
        for (std::int64_t left = 0; left < wanted && left <= model_.num_free(); ++left) {
            const SeqId filler = cache_.add_sequence();
            model_.add(filler);
            try_write(filler, 0, (model_.num_free() - left) * spec_.layout.block_size);
            try_write(seq, layer, num_tokens);
            free(filler);
        }
    }

    void try_write(SeqId seq, std::int32_t layer, std::int64_t num_tokens) {
        const auto k = token_rows(spec_.layout, next_token_, num_tokens, true, layer);
        const auto v = token_rows(spec_.layout, next_token_, num_tokens, false, layer);
        const std::int64_t wanted = model_.blocks_wanted(seq, layer, num_tokens);
        const bool fits = wanted <= model_.num_free();
        const bool can =
            run("can_append", [&] { return cache_.can_append(seq, layer, num_tokens); });
        if (can != fits) {
            blame(join_text("can_append is ", can, " for ", wanted, " blocks of ",
                            model_.num_free()));
        }
        const std::optional<CacheState> before =
            fits ? std::nullopt : std::optional(state_of(cache_, model_));
        const WriteResult result = run("a write", [&] {
            return num_tokens == 1 ? cache_.append(seq, layer, k.data(), v.data())
                                   : cache_.prefill(seq, layer, {k.data(), v.data(), num_tokens});
        });
        if (result.ok() != fits || result.blocks_needed != wanted ||
            result.blocks_free != model_.num_free()) {
            blame(join_text("a write of ", num_tokens, " tokens that needs ", wanted, " of ",
                            model_.num_free(), " blocks says: ", to_string(result)));
        }
        if (fits) {
            model_.write(seq, layer, num_tokens, next_token_);
            next_token_ += static_cast<std::uint32_t>(num_tokens);
        } else {
            ++num_refused_;
            require_unchanged(*before, "a refused write");
        }
    }

    // What must throw and change nothing.
    void misuse(SeqId seq) {
        const CacheState before = state_of(cache_, model_);
        const float x = 0.0f;
        must_throw("freeing twice", [&] { cache_.free(last_freed_); });
        must_throw("forking the freed", [&] { (void)cache_.fork(last_freed_); });
        must_throw("writing to the freed", [&] { (void)cache_.append(last_freed_, 0, &x, &x); });
        must_throw("a negative count", [&] { (void)cache_.prefill(seq, 0, {&x, &x, -1}); });
        must_throw("a count beyond int32", [&] {
            (void)cache_.prefill(seq, 0, {&x, &x, std::int64_t{1} << 31});
        });
        must_throw("layer -1", [&] { (void)cache_.append(seq, -1, &x, &x); });
        must_throw("a layer too many", [&] { (void)cache_.append(seq, spec_.num_layers, &x, &x); });
        must_throw("null rows", [&] { (void)cache_.append(seq, 0, nullptr, &x); });
        if (is_fp8() && cache_.seq_len(seq, 0) > 0) {
            must_throw("new scales for old tokens", [&] { cache_.set_scales(0, {}); });
        }
        require_unchanged(before, "misuse");
    }

    void must_throw(const char* what, const std::function<void()>& action) {
        try {
            action();
        } catch (const std::invalid_argument&) {
            return;
        }
        blame(join_text(what, " does not throw"));
    }

    WalkSpec spec_;
    std::mt19937 random_;
    Cache cache_;
    CacheModel model_;
    std::optional<std::string> fault_;
    SeqId last_freed_{-1};
    std::uint32_t next_token_ = 1;
    std::int64_t num_refused_ = 0;
    std::int64_t num_failed_allocations_ = 0;
};

}  // namespace nanoserve::testing
