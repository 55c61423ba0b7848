// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The walk has to find caches that do something wrong.
#include "reliability/cache_walk.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <vector>

using Catch::Matchers::ContainsSubstring;
using nanoserve::BlockTables;
using nanoserve::KVRows;
using nanoserve::KVScales;
using nanoserve::PagedKVCache;
using nanoserve::SeqId;
using nanoserve::WriteResult;
using nanoserve::testing::CacheWalk;
using nanoserve::testing::random_walk_spec;

namespace {

// The first fault that 20 walks show.
template <class Cache>
std::string fault_of() {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        CacheWalk<Cache> walk(random_walk_spec(seed));
        for (int step = 0; step <= 200; ++step) {
            if (const auto fault = step < 200 ? walk.step() : walk.finish()) {
                return *fault;
            }
        }
    }
    return "none";
}

struct LeakyCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    void free(SeqId seq) {
        (void)PagedKVCache::fork(seq);
        PagedKVCache::free(seq);
    }
};

struct SwappingCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    WriteResult prefill(SeqId seq, std::int32_t layer, const KVRows& rows) {
        return PagedKVCache::prefill(seq, layer, {rows.v, rows.k, rows.num_tokens});
    }
};

struct OptimisticCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    [[nodiscard]] bool can_append(SeqId, std::int32_t, std::int64_t) const { return true; }
};

struct EmptyForkCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    [[nodiscard]] SeqId fork(SeqId) { return add_sequence(); }
};

// Writes what fits of a prefill that does not.
struct HalfWritingCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    WriteResult prefill(SeqId seq, std::int32_t layer, const KVRows& rows) {
        const WriteResult result = PagedKVCache::prefill(seq, layer, rows);
        for (std::int64_t n = rows.num_tokens - 1; !result.ok() && n > 0; --n) {
            if (PagedKVCache::prefill(seq, layer, {rows.k, rows.v, n}).ok()) {
                break;
            }
        }
        return result;
    }
};

// Takes a block, then memory, and does not give the block back when there is none.
struct ForgetfulCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    WriteResult append(SeqId seq, std::int32_t layer, const float* k, const float* v) {
        const SeqId helper = fork(seq);
        const std::vector<int> memory(100);
        free(helper);
        return PagedKVCache::append(seq, layer, k, v);
    }
};

// Keeps the new scale of K where there is no memory for that of V.
struct HalfScalingCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    void set_scales(std::int32_t layer, const KVScales& scales) {
        PagedKVCache::set_scales(layer, {.k = scales.k, .v = view(layer).scales.v});
        PagedKVCache::set_scales(layer, scales);
    }
};

struct FirstFactorCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    void set_scales(std::int32_t layer, const KVScales& scales) {
        const std::vector<float> k(8, scales.k.heads == nullptr ? 1.0f : scales.k.heads[0]);
        PagedKVCache::set_scales(
            layer, {.k = {.tensor = scales.k.tensor, .heads = k.data()}, .v = scales.v});
    }
};

struct FirstLayerBatchCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    [[nodiscard]] BlockTables batch(std::span<const SeqId> seqs, std::int32_t = 0) const {
        return PagedKVCache::batch(seqs);
    }
};

struct ForgivingCache : PagedKVCache {
    using PagedKVCache::PagedKVCache;
    void free(SeqId seq) {
        if (static_cast<std::int64_t>(seq) < 0 || is_known(seq)) {
            PagedKVCache::free(seq);
        }
    }
    [[nodiscard]] bool is_known(SeqId seq) const {
        try {
            (void)seq_len(seq);
        } catch (const std::invalid_argument&) {
            return false;
        }
        return true;
    }
};

}  // namespace

TEST_CASE("the walk passes the cache, and both kinds of exhaustion are part of it",
          "[reliability]") {
    CHECK(fault_of<PagedKVCache>() == "none");
    CacheWalk walk(random_walk_spec(3));
    for (int step = 0; step < 200; ++step) {
        CHECK_FALSE(walk.step());
    }
    CHECK(walk.num_refused() > 0);
    CHECK(walk.num_failed_allocations() > 0);
}

TEST_CASE("the walk finds a sequence that keeps its blocks", "[reliability]") {
    CHECK_THAT(fault_of<LeakyCache>(), ContainsSubstring("blocks"));
}

TEST_CASE("the walk finds values that stand where keys belong", "[reliability]") {
    CHECK_THAT(fault_of<SwappingCache>(), ContainsSubstring("is not what was written"));
}

TEST_CASE("the walk finds a promise of blocks that are not there", "[reliability]") {
    CHECK_THAT(fault_of<OptimisticCache>(), ContainsSubstring("can_append is 1"));
}

TEST_CASE("the walk finds a fork without its history", "[reliability]") {
    CHECK(fault_of<EmptyForkCache>() != "none");
}

TEST_CASE("the walk finds a refused write that wrote a part", "[reliability]") {
    CHECK_THAT(fault_of<HalfWritingCache>(), ContainsSubstring("a refused write changed"));
}

TEST_CASE("the walk finds a write that is not undone when memory fails", "[reliability]") {
    CHECK_THAT(fault_of<ForgetfulCache>(),
               ContainsSubstring("a write whose memory fails changed the cache"));
}

TEST_CASE("the walk finds scales that are set by half when memory fails", "[reliability]") {
    CHECK_THAT(fault_of<HalfScalingCache>(),
               ContainsSubstring("set_scales whose memory fails changed the cache"));
}

TEST_CASE("the walk finds a factor that is another head's", "[reliability]") {
    CHECK_THAT(fault_of<FirstFactorCache>(),
               ContainsSubstring("the scales are not those that were set"));
}

TEST_CASE("the walk finds a batch of another layer", "[reliability]") {
    CHECK_THAT(fault_of<FirstLayerBatchCache>(),
               ContainsSubstring("a batch has not the tables and lengths of its sequences"));
}

TEST_CASE("the walk finds a second free that is not refused", "[reliability]") {
    CHECK_THAT(fault_of<ForgivingCache>(), ContainsSubstring("freeing twice does not throw"));
}
