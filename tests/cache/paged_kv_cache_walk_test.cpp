// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A random walk of prefill, append, fork and free over a small pool, against a model that keeps
// every token in plain vectors. After each step: what the cache holds, who holds which block, and
// that no block is lost.
#include <nanoserve/cache/paged_kv_cache.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <map>
#include <random>
#include <set>
#include <vector>

using nanoserve::BlockId;
using nanoserve::PagedKVCache;
using nanoserve::SeqId;

namespace {

constexpr std::int32_t kNumLayers = 2;
constexpr std::int32_t kNumBlocks = 12;

// What each layer of a sequence should hold: the first element of each token's K row; V is its
// negative.
using Model = std::map<SeqId, std::vector<std::vector<float>>>;

class Walk {
  public:
    Walk(std::uint32_t seed, std::int32_t block_size)
        : random_(seed),
          block_size_(block_size),
          cache_(kNumLayers, nanoserve::nhd_layout({.num_blocks = kNumBlocks,
                                                    .block_size = block_size,
                                                    .num_kv_heads = 2,
                                                    .head_dim = 3})) {}

    void step() {
        switch (pick(8)) {
            case 0:
                model_.emplace(cache_.add_sequence(), std::vector<std::vector<float>>(kNumLayers));
                break;
            case 1:
                if (!model_.empty()) {
                    const SeqId parent = pick_seq();
                    const SeqId child = cache_.fork(parent);
                    REQUIRE(model_.emplace(child, model_.at(parent)).second);
                }
                break;
            case 2:
                if (!model_.empty()) {
                    const SeqId seq = pick_seq();
                    cache_.free(seq);
                    model_.erase(seq);
                }
                break;
            case 3:
                write(pick(3 * block_size_ + 1));
                break;
            default:
                write(1);
        }
    }

    void check() {
        check_contents();
        check_block_counts();
    }

    [[nodiscard]] int num_refused() const { return num_refused_; }
    [[nodiscard]] const PagedKVCache& cache() const { return cache_; }

    void free_all() {
        while (!model_.empty()) {
            cache_.free(model_.begin()->first);
            model_.erase(model_.begin());
        }
    }

  private:
    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

    SeqId pick_seq() {
        auto entry = model_.begin();
        std::advance(entry, pick(static_cast<int>(model_.size())));
        return entry->first;
    }

    void write(int num_tokens) {
        if (model_.empty()) {
            return;
        }
        const SeqId seq = pick_seq();
        const int layer = pick(kNumLayers);
        std::vector<float> k, v, firsts;
        for (int t = 0; t < num_tokens; ++t) {
            firsts.push_back(next_value_);
            for (int i = 0; i < 6; ++i) {
                k.push_back(next_value_ + static_cast<float>(i) / 8);
                v.push_back(-k.back());
            }
            next_value_ += 1.0f;
        }
        const bool expected = cache_.can_append(seq, layer, num_tokens);
        const auto before = cache_.pool().num_free();
        const auto result = cache_.prefill(seq, layer, {k.data(), v.data(), num_tokens});
        REQUIRE(result.ok() == expected);
        if (result.ok()) {
            REQUIRE(before - cache_.pool().num_free() <= result.blocks_needed);
            auto& tokens = model_.at(seq)[static_cast<std::size_t>(layer)];
            tokens.insert(tokens.end(), firsts.begin(), firsts.end());
        } else {
            REQUIRE(before == cache_.pool().num_free());
            ++num_refused_;
        }
    }

    void check_contents() {
        for (const auto& [seq, layers] : model_) {
            const auto table = cache_.block_table(seq);
            for (int layer = 0; layer < kNumLayers; ++layer) {
                const auto& tokens = layers[static_cast<std::size_t>(layer)];
                REQUIRE(cache_.seq_len(seq, layer) == std::ssize(tokens));
                const auto view = cache_.view(layer);
                for (std::int64_t t = 0; t < std::ssize(tokens); ++t) {
                    const BlockId block = table[static_cast<std::size_t>(t / block_size_)];
                    for (int head = 0; head < 2; ++head) {
                        const float* k = view.k_row<float>(block, t % block_size_, head);
                        const float* v = view.v_row<float>(block, t % block_size_, head);
                        for (int d = 0; d < 3; ++d) {
                            const float expected = tokens[static_cast<std::size_t>(t)] +
                                                   static_cast<float>(head * 3 + d) / 8;
                            if (k[d] != expected || v[d] != -expected) {
                                FAIL("sequence " << static_cast<std::int64_t>(seq) << " layer "
                                                 << layer << " token " << t << " holds " << k[d]
                                                 << ", not " << expected);
                            }
                        }
                    }
                }
            }
        }
    }

    void check_block_counts() {
        std::map<BlockId, std::int32_t> holders;
        for (const auto& [seq, layers] : model_) {
            const auto table = cache_.block_table(seq);
            REQUIRE(std::set<BlockId>(table.begin(), table.end()).size() == table.size());
            std::size_t longest = 0;
            for (const auto& tokens : layers) {
                longest = std::max(longest, tokens.size());
            }
            REQUIRE(std::ssize(table) ==
                    nanoserve::blocks_needed(static_cast<std::int64_t>(longest), block_size_));
            for (const BlockId block : table) {
                ++holders[block];
            }
        }
        for (BlockId block = 0; block < kNumBlocks; ++block) {
            REQUIRE(cache_.pool().ref_count(block) ==
                    (holders.contains(block) ? holders[block] : 0));
        }
        REQUIRE(cache_.pool().num_free() == kNumBlocks - std::ssize(holders));
    }

    std::mt19937 random_;
    std::int32_t block_size_;
    PagedKVCache cache_;
    Model model_;
    float next_value_ = 1.0f;
    int num_refused_ = 0;
};

}  // namespace

TEST_CASE("a random walk of writes, forks and frees keeps every token and loses no block",
          "[cache]") {
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 9)));
    const std::int32_t block_size = GENERATE(1, 3, 4);
    CAPTURE(seed, block_size);
    Walk walk(seed, block_size);
    for (int step = 0; step < 400; ++step) {
        CAPTURE(step);
        walk.step();
        walk.check();
    }
    CHECK(walk.num_refused() > 0);  // the pool is small enough that running out is part of the walk
    walk.free_all();
    CHECK(walk.cache().pool().num_free() == kNumBlocks);
}
