// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reliability/cache_model.hpp"
#include "reliability/failing_new.hpp"

#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <concepts>
#include <functional>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nanoserve::testing {

/// A cache and how it is walked.
struct WalkSpec {
    std::uint32_t seed = 1;
    std::int32_t num_layers = 1;
    KVLayout layout;
    std::int64_t max_seqs = 8;
    int max_prefill = 16;      ///< tokens of one write
    bool head_scales = false;  ///< a pool of fp8 has a factor for each KV head as well
};

/// The walk of a seed: layers, block_size, storage type, order and padding of a small pool are
/// drawn.
[[nodiscard]] WalkSpec random_walk_spec(std::uint32_t seed);

[[nodiscard]] std::string to_string(const WalkSpec& spec);

/// A random walk of prefill, append, fork, free, batches, scales, misuse and moves over a cache,
/// beside a model. Some writes are tried with every smaller number of free blocks first, and some
/// operations with each of their allocations failing: what does not happen must leave the cache as
/// it was, bit for bit. `Cache` is PagedKVCache, or one that does something wrong.
template <class Cache = PagedKVCache>
class CacheWalk {
  public:
    explicit CacheWalk(const WalkSpec& spec)
        : spec_(spec),
          random_(spec.seed),
          cache_(spec.num_layers, spec.layout),
          model_(spec.num_layers, spec.layout),
          scales_(static_cast<std::size_t>(spec.num_layers)) {
        for (std::int32_t layer = 0; is_fp8() && layer < spec.num_layers; ++layer) {
            set_scales(layer);
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
        switch (pick(14)) {
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
                return look_at_batch();
            case 6:
                return is_fp8() ? set_scales(pick_layer()) : look_at_batch();
            case 7:
            case 8:
                return write(pick_seq(), pick(spec_.max_prefill + 1));
            default:
                return write(pick_seq(), 1);
        }
    }

    [[nodiscard]] bool is_fp8() const { return spec_.layout.dtype == DType::fp8_e4m3; }

    // Scales of one layer, and of its heads where the walk has such.
    struct LayerScales {
        float k = 1.0f, v = 1.0f;
        std::vector<float> k_heads, v_heads;  // [num_kv_heads], empty without

        [[nodiscard]] KVScales view() const {
            return {.k = {.tensor = k, .heads = k_heads.empty() ? nullptr : k_heads.data()},
                    .v = {.tensor = v, .heads = v_heads.empty() ? nullptr : v_heads.data()}};
        }
    };

    // Never the same again; 3 is no power of two, so that it rounds.
    [[nodiscard]] LayerScales new_scales() {
        const float scale = 3.0f + static_cast<float>(num_scales_++);
        LayerScales scales = {.k = scale, .v = 1.0f / scale, .k_heads = {}, .v_heads = {}};
        for (int h = 0; spec_.head_scales && h < spec_.layout.num_kv_heads; ++h) {
            scales.k_heads.push_back(1.0f + static_cast<float>(h) / 4.0f);
            scales.v_heads.push_back(1.0f / (scale + static_cast<float>(h)));
        }
        return scales;
    }

    // New scales for a layer; they are refused while it holds tokens.
    void set_scales(std::int32_t layer) {
        const auto index = static_cast<std::size_t>(layer);
        LayerScales scales = new_scales();
        const KVScales view = scales.view();
        if (std::ranges::any_of(model_.sequences(), [&](const auto& entry) {
                return !entry.second.tokens[index].empty();
            })) {
            const CacheState before = state_of(cache_, model_);
            must_throw("new scales for old tokens", [&] { cache_.set_scales(layer, view); });
            return require_unchanged(before, "refused scales");
        }
        run("set_scales", [&] { cache_.set_scales(layer, view); });
        scales_[index] = std::move(scales);
    }

    void look_at_scales() {
        for (std::int32_t layer = 0; is_fp8() && layer < spec_.num_layers; ++layer) {
            const KVScales is = cache_.view(layer).scales;
            const KVScales should = scales_[static_cast<std::size_t>(layer)].view();
            for (int h = 0; h < spec_.layout.num_kv_heads; ++h) {
                if (is.k.of_head(h) != should.k.of_head(h) ||
                    is.v.of_head(h) != should.v.of_head(h)) {
                    blame("the scales are not those that were set");
                }
            }
        }
    }

    // The tables of some sequences, the same one twice perhaps, or of none.
    void look_at_batch() {
        const std::int32_t layer = pick_layer();
        std::vector<SeqId> seqs(static_cast<std::size_t>(pick(4)));
        std::ranges::generate(seqs, [&] { return pick_seq(); });
        const BlockTables tables = run("batch", [&] { return cache_.batch(seqs, layer); });
        BlockTables expected;
        for (const SeqId seq : seqs) {
            expected.max_blocks_per_seq = std::max(expected.max_blocks_per_seq,
                                                   std::ssize(model_.sequences().at(seq).blocks));
        }
        for (const SeqId seq : seqs) {
            const auto& tokens = model_.sequences().at(seq).tokens[static_cast<std::size_t>(layer)];
            expected.seq_lens.push_back(static_cast<std::int32_t>(tokens.size()));
            const auto table = cache_.block_table(seq);
            auto& row = expected.block_tables;
            row.insert(row.end(), table.begin(), table.end());
            row.resize(
                expected.seq_lens.size() * static_cast<std::size_t>(expected.max_blocks_per_seq),
                BlockTables::kNoBlock);
        }
        if (tables.seq_lens != expected.seq_lens || tables.block_tables != expected.block_tables ||
            tables.max_blocks_per_seq != expected.max_blocks_per_seq) {
            blame("a batch has not the tables and lengths of its sequences");
        }
    }

    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

    std::int32_t pick_layer() { return pick(spec_.num_layers); }

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
        run("free", [&] { cache_.free(seq); });
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
        const std::int32_t layer = pick_layer();
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
        must_throw("asking for a negative count", [&] { (void)cache_.can_append(seq, 0, -1); });
        must_throw("asking for a count beyond int32",
                   [&] { (void)cache_.can_append(seq, 0, std::int64_t{1} << 31); });
        must_throw("a batch of the freed", [&] { (void)cache_.batch(std::span(&last_freed_, 1)); });
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
    std::vector<LayerScales> scales_;  // [num_layers], as they were set last
    int num_scales_ = 0;
    std::optional<std::string> fault_;
    SeqId last_freed_{-1};
    std::uint32_t next_token_ = 1;
    std::int64_t num_refused_ = 0;
    std::int64_t num_failed_allocations_ = 0;
};

}  // namespace nanoserve::testing
