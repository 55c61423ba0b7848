// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// OPEN-07 on the CPU: blocks whose offsets do not fit 32 bits. The pool is address space of which
// only the blocks that are read become memory.
#include "reliability/read_path.hpp"

#include <nanoserve/cache/out_of_memory.hpp>
#include <nanoserve/cache/paged_kv_cache.hpp>
#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::WithinAbs;
using nanoserve::BlockId;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::ReadPath;

namespace {

// Zeros that cost nothing until they are written.
class SparsePool {
  public:
    explicit SparsePool(std::size_t num_bytes)
        : num_bytes_(num_bytes),
          memory_(mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        if (memory_ == MAP_FAILED) {
            SKIP("no address space for a pool of " << num_bytes << " bytes");
        }
    }
    SparsePool(const SparsePool&) = delete;
    SparsePool& operator=(const SparsePool&) = delete;
    ~SparsePool() { munmap(memory_, num_bytes_); }

    [[nodiscard]] void* data() const { return memory_; }

  private:
    std::size_t num_bytes_;
    void* memory_;
};

// No more address space than `num_bytes` while it lives, so that a system that promises any memory
// refuses too.
class AddressSpaceLimit {
  public:
    explicit AddressSpaceLimit(rlim_t num_bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        SKIP("a sanitizer maps more address space than that for itself");
#endif
        REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
        const rlimit limit = {.rlim_cur = num_bytes, .rlim_max = before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    AddressSpaceLimit(const AddressSpaceLimit&) = delete;
    AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;
    ~AddressSpaceLimit() {
        setrlimit(RLIMIT_AS, &before_);
    }

  private:
    rlimit before_ = {};
};

rlim_t address_space_used() {
    std::ifstream statm("/proc/self/statm");
    rlim_t num_pages = 0;
    statm >> num_pages;
    return num_pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// The most memory that the process has ever had, in KiB.
std::int64_t peak_kib() {
    rusage usage = {};
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss;
}

constexpr std::int32_t kBlockSize = 32;
constexpr std::int32_t kHeads = 8;
constexpr std::int32_t kHeadDim = 128;

}  // namespace

// A block has 32768 elements: 65536 is the first whose offset in elements is 2^31, 131072 the first
// at 2^32; in bytes of fp16 and fp32 they come earlier.
TEST_CASE("OPEN-07: a block is found on both sides of every 32-bit limit", "[reliability]") {
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    const BlockId far = GENERATE(16383, 16384, 32767, 32768, 65535, 65536, 70000, 131071, 131072);
    const auto layout = nanoserve::nhd_layout({.dtype = dtype,
                                               .num_blocks = 131073,
                                               .block_size = kBlockSize,
                                               .num_kv_heads = kHeads,
                                               .head_dim = kHeadDim});
    REQUIRE(layout.offset(70000, 0, 0) == 2293760000);
    const auto num_bytes =
        static_cast<std::size_t>(layout.num_blocks * layout.block_stride * bytes_of(dtype));
    const SparsePool k_pool(num_bytes), v_pool(num_bytes);
    const auto fill_far = [&](const SparsePool& pool, float value) {
        nanoserve::visit_dtype(dtype, [&]<class T>() {
            std::fill_n(static_cast<T*>(pool.data()) + layout.offset(far, 0, 0),
                        layout.block_stride, nanoserve::from_float<T>(value));
        });
    };
    fill_far(k_pool, 0.125f);
    fill_far(v_pool, 3.25f);
    const std::vector<float> q(kHeads * kHeadDim, 1.0f);
    std::vector<float> out(q.size());
    const std::vector<BlockId> table = {far, 0};  // of zeros
    const std::int32_t seq_len = 2 * kBlockSize;
    const PagedAttentionParams params = {
        .q = q.data(),
        .out = out.data(),
        .num_q_heads = kHeads,
        .kv = {.k_cache = k_pool.data(), .v_cache = v_pool.data(), .layout = layout},
        .block_tables = table.data(),
        .seq_lens = &seq_len,
        .num_seqs = 1,
        .max_blocks_per_seq = 2};
    const double expected = 3.25 / (1.0 + std::exp(-0.125 * std::sqrt(kHeadDim)));
    for (const ReadPath& path : nanoserve::testing::read_paths()) {
        if (path.is_slow || path.reason_to_refuse(params)) {
            continue;  // open_device_test has the kernels themselves
        }
        CAPTURE(path, far, dtype);
        std::ranges::fill(out, -1.0f);
        CHECK(path.read(params) == 0);
        const auto [least, most] = std::ranges::minmax(out);
        CHECK_THAT(least, WithinAbs(expected, 1e-5));
        CHECK_THAT(most, WithinAbs(expected, 1e-5));
    }
}

// As a 32-bit number the 1049 GB of K and V would be 603979776 bytes, which are to be had.
TEST_CASE("OPEN-07: a pool that the machine has no memory for is refused by all it needs",
          "[reliability]") {
    const AddressSpaceLimit limit(std::size_t{64} << 30);
    const auto layout = nanoserve::nhd_layout({.num_blocks = 4'000'000,
                                               .block_size = kBlockSize,
                                               .num_kv_heads = kHeads,
                                               .head_dim = kHeadDim});
    CHECK_THROWS_MATCHES(
        nanoserve::PagedKVCache(1, layout), nanoserve::OutOfMemory,
        MessageMatches(ContainsSubstring("1048.61 GB for a cache of 1 layers x 4000000 blocks")));
}

TEST_CASE("OPEN-07: a cache of more layers than there is memory for is refused by all it needs",
          "[reliability]") {
    const AddressSpaceLimit limit(std::size_t{64} << 30);
    const auto layout = nanoserve::nhd_layout({.num_blocks = 0, .num_kv_heads = 1, .head_dim = 1});
    CHECK_THROWS_MATCHES(
        nanoserve::PagedKVCache(std::numeric_limits<std::int32_t>::max(), layout),
        nanoserve::OutOfMemory,
        MessageMatches(ContainsSubstring("GB for a cache of 2147483647 layers x 0 blocks")));
}

// A system that promises more than it has would give K, have it touched, and kill for V.
TEST_CASE("OPEN-07: a pool of which K alone fits is refused before a page of it is touched",
          "[reliability]") {
    constexpr std::int64_t kBytes = std::int64_t{256} << 20;  // of K, and as many of V
    const AddressSpaceLimit limit(address_space_used() + static_cast<rlim_t>(kBytes * 3 / 2));
    const auto layout = nanoserve::nhd_layout({.num_blocks = kBytes / 4 / kBlockSize / kHeads,
                                               .block_size = kBlockSize,
                                               .num_kv_heads = kHeads,
                                               .head_dim = 1});
    const std::int64_t before = peak_kib();
    CHECK_THROWS_AS(nanoserve::PagedKVCache(1, layout), nanoserve::OutOfMemory);
    CHECK(peak_kib() - before < kBytes / 1024 / 8);
}
