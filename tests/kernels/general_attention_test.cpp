// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// general_attention on a GPU: the oracle's numbers for every size and type it takes, and nothing
// read that is not the sequence's own.
#include "kernels/kernel_checks.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/general_attention.hpp>

#include <cstring>
#include <random>

using Catch::Matchers::Message;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using nanoserve::BlockTables;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::require_close;
using nanoserve::testing::same_bits;
using nanoserve::testing::without_absent_blocks;

namespace {

void check_kernel(PagedCase& test) {
    CAPTURE(test.describe());
    const PagedAttentionParams params = test.params();
    const DeviceResult result = DeviceCase(params).run();
    REQUIRE(result.status == 0);
    require_close(result.out.data(), result.lse.data(), params);
}

void check_kernel(const CaseSpec& spec) {
    PagedCase test(spec);
    check_kernel(test);
}

std::vector<float> floats(PagedCase& test, const DeviceResult& result) {
    test.out() = result.out;
    return test.out_floats();
}

// A stream that is destroyed with its owner.
class Stream {
  public:
    Stream() { NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { (void)cudaStreamDestroy(stream_); }
    [[nodiscard]] cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace

TEST_CASE("general_attention agrees with the oracle at every block size and block edge",
          "[kernels]") {
    needs_gpu();
    const std::int32_t block_size = GENERATE(1, 3, 7, 16, 24, 32, 33, 256);
    check_kernel(
        {.block_size = block_size,
         .seq_lens = {0, 1, block_size - 1, block_size, block_size + 1, 5 * block_size + 2, 100}});
}

TEST_CASE("general_attention agrees with the oracle at every head_dim", "[kernels]") {
    needs_gpu();
    const std::int32_t head_dim = GENERATE(range(8, 257, 8));
    check_kernel({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = head_dim},
                  .block_size = 5,
                  .seq_lens = {13, 40}});
}

TEST_CASE("general_attention agrees with the oracle at every group size", "[kernels]") {
    needs_gpu();
    const std::int32_t group_size = GENERATE(range(1, 25));
    check_kernel({.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = 16},
                  .seq_lens = {18}});
}

TEST_CASE(
    "general_attention agrees for every storage type, element type of q and out, and order of "
    "the pool",
    "[kernels]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3);
    const bool scaled = dtype == DType::fp8_e4m3 && GENERATE(false, true);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const PoolOrder order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    const std::int32_t head_dim = GENERATE(40, 64, 128, 256);
    check_kernel({.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = head_dim},
                  .block_size = 6,
                  .seq_lens = {0, 7, 33},
                  .dtype = dtype,
                  .io_dtype = io_dtype,
                  .order = order,
                  .scaled = scaled});
}

TEST_CASE("general_attention agrees when one token takes nearly all the weight", "[kernels]") {
    needs_gpu();
    check_kernel({.seq_lens = {300}, .q_scale = 40.0f, .seed = 7});
}

TEST_CASE("general_attention agrees on random shapes", "[kernels]") {
    needs_gpu();
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 31)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CaseSpec spec{
        .shape = {.num_q_heads = 0, .num_kv_heads = pick(1, 5), .head_dim = 8 * pick(1, 18)},
        .block_size = pick(1, 70),
        .seq_lens = {},
        .dtype = static_cast<DType>(pick(0, 2)),
        .io_dtype = static_cast<DType>(pick(0, 2)),
        .order = static_cast<PoolOrder>(pick(0, 2)),
        .seed = seed};
    spec.shape.num_q_heads = spec.shape.num_kv_heads * pick(1, 9);
    for (int i = pick(1, 4); i > 0; --i) {
        spec.seq_lens.push_back(pick(0, 150));
    }
    check_kernel(spec);
}

TEST_CASE("general_attention moves every sum to the new maximum when scores grow", "[kernels]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 8},
                    .block_size = 1,
                    .seq_lens = {120}});
    test.set_q(1.0f);
    for (int t = 0; t < 120; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t)];
        test.set_row(true, block, 0, 0, static_cast<float>(t));
    }
    check_kernel(test);
}

TEST_CASE("general_attention reads blocks that are shared or stand twice in one table",
          "[kernels]") {
    needs_gpu();
    PagedCase test({.block_size = 4, .seq_lens = {12, 8}});
    auto& table = test.tables().block_tables;
    const auto width = static_cast<std::size_t>(test.tables().max_blocks_per_seq);
    table[1] = table[0];
    table[width] = table[2];
    check_kernel(test);
}

TEST_CASE("NaN in every slot that no sequence owns reaches no output of general_attention",
          "[kernels]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {17}});
    test.set_q(0.0f);
    for (int t = 0; t < 17; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 16)];
        test.set_row(true, block, t % 16, 0, 0.0f);
        test.set_row(false, block, t % 16, 0, static_cast<float>(t));
    }
    const DeviceResult result = DeviceCase(test.params()).run();
    for (const float value : floats(test, result)) {
        CHECK_THAT(value, WithinRel(8.0f, 1e-6f));
    }
    CHECK_THAT(result.lse[0], WithinRel(2.833213f, 1e-6f));
}

TEST_CASE("query head h of general_attention reads KV head h / group_size", "[kernels]") {
    needs_gpu();
    const auto [num_q_heads, num_kv_heads] =
        GENERATE(std::pair{28, 4}, std::pair{48, 2}, std::pair{12, 12}, std::pair{8, 1});
    PagedCase test(
        {.shape = {.num_q_heads = num_q_heads, .num_kv_heads = num_kv_heads, .head_dim = 8},
         .seq_lens = {1}});
    for (int head = 0; head < num_kv_heads; ++head) {
        test.set_row(false, test.tables().block_tables[0], 0, head, static_cast<float>(head));
    }
    const auto out = floats(test, DeviceCase(test.params()).run());
    for (int h = 0; h < num_q_heads; ++h) {
        CHECK(out[static_cast<std::size_t>(h * 8)] ==
              static_cast<float>(h / (num_q_heads / num_kv_heads)));
    }
}

TEST_CASE("general_attention takes sm_scale as given: the default, and 0 as 0", "[kernels]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 96},
                    .block_size = 2,
                    .seq_lens = {2}});
    test.set_q(1.0f);
    const auto block = test.tables().block_tables[0];
    test.set_row(true, block, 0, 0, 0.125f);
    test.set_row(true, block, 1, 0, 0.0f);
    test.set_row(false, block, 0, 0, 1.0f);
    test.set_row(false, block, 1, 0, 0.0f);
    PagedAttentionParams params = test.params();
    CHECK_THAT(floats(test, DeviceCase(params).run())[0], WithinRel(0.772897f, 1e-6f));
    params.sm_scale = 0.0f;
    CHECK(floats(test, DeviceCase(params).run())[0] == 0.5f);
}

TEST_CASE("scores far beyond the range of fp16 give general_attention the right token and lse",
          "[kernels]") {
    needs_gpu();
    const DType dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    PagedCase test({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16},
                    .block_size = 2,
                    .seq_lens = {3},
                    .dtype = dtype,
                    .io_dtype = dtype});
    test.set_q(200.0f);
    const float keys[] = {100.0f, 99.0f, -100.0f};
    for (int t = 0; t < 3; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 2)];
        test.set_row(true, block, t % 2, 0, keys[t]);
        test.set_row(false, block, t % 2, 0, static_cast<float>(t + 1));
    }
    const DeviceResult result = DeviceCase(test.params()).run();
    CHECK(floats(test, result)[0] == 1.0f);
    CHECK_THAT(result.lse[0], WithinAbs(80000.0f, 0.02f));
}

TEST_CASE("general_attention reads q out of a packed row, and may leave out lse", "[kernels]") {
    needs_gpu();
    PagedCase test({.seq_lens = {9, 4}});
    PagedAttentionParams params = test.params();
    const DeviceResult expected = DeviceCase(params).run();
    std::vector<float> packed(2 * 200, NAN);
    for (int seq = 0; seq < 2; ++seq) {
        std::copy_n(static_cast<const float*>(params.q) + seq * 128, 128,
                    packed.begin() + seq * 200);
    }
    params.q = packed.data();
    params.q_stride = 200;
    CHECK(same_bits(DeviceCase(params).run(), expected));
    params.lse = nullptr;
    const DeviceResult without_lse = DeviceCase(params).run();
    CHECK(without_lse.out == expected.out);
    CHECK(std::isnan(without_lse.lse[0]));
}

TEST_CASE("general_attention reads a pool with padded strides", "[kernels]") {
    needs_gpu();
    PagedCase test({.block_size = 3, .seq_lens = {8}});
    PagedAttentionParams params = test.params();
    const DeviceResult expected = DeviceCase(params).run();
    // The same rows with a hole of NaN behind each token: rows that no wide load could take.
    const auto& dense = params.kv.layout;
    nanoserve::KVLayout padded = dense;
    padded.token_stride += 5;
    padded.block_stride = padded.token_stride * dense.block_size;
    const auto spread = [&](const void* pool) {
        std::vector<float> rows(static_cast<std::size_t>(padded.block_stride * padded.num_blocks),
                                NAN);
        for (std::int64_t token = 0; token < dense.num_blocks * dense.block_size; ++token) {
            std::copy_n(static_cast<const float*>(pool) + token * dense.token_stride,
                        dense.token_stride, rows.begin() + token * padded.token_stride);
        }
        return rows;
    };
    const auto k = spread(params.kv.k_cache);
    const auto v = spread(params.kv.v_cache);
    // In one buffer, so that DeviceCase need not guess how the two lie to each other.
    std::vector<float> both = k;
    both.insert(both.end(), v.begin(), v.end());
    const DeviceBuffer pools(both);
    DeviceCase device(params);
    PagedAttentionParams on_device = device.params();
    on_device.kv = {
        .k_cache = pools.data(), .v_cache = pools.as<float>() + k.size(), .layout = padded};
    device.poison_outputs();
    nanoserve::general_attention(on_device, nullptr, device.status());
    CHECK(same_bits(device.result(), expected));
}

TEST_CASE(
    "a used id outside the pool is an absent block to general_attention, and the status says so",
    "[kernels]") {
    needs_gpu();
    const std::int32_t bad =
        GENERATE(-1, 1 << 30, std::numeric_limits<std::int32_t>::min(), -2 /* num_blocks */);
    const std::size_t place = GENERATE(0, 1, 3);
    PagedCase test({.block_size = 4, .seq_lens = {14, 5}});
    const nanoserve::KVLayout layout = test.params().kv.layout;
    test.tables().block_tables[place] = bad == -2 ? layout.num_blocks : bad;
    CAPTURE(test.tables().block_tables[place], place);
    const DeviceResult result = DeviceCase(test.params()).run();
    CHECK(result.status == nanoserve::kAbsentBlock);
    const BlockTables rest = without_absent_blocks(test.tables(), layout);
    PagedAttentionParams params = test.params();
    set_block_tables(params, rest);
    require_close(result.out.data(), result.lse.data(), params);
    const DeviceResult expected = DeviceCase(params).run();
    CHECK(expected.status == 0);
    CHECK(same_bits(result, expected));
}

TEST_CASE("an impossible length is clamped by general_attention, and the status says so",
          "[kernels]") {
    needs_gpu();
    const auto [seq_len, clamped] =
        GENERATE(std::pair{9, 8}, std::pair{std::numeric_limits<std::int32_t>::max(), 8},
                 std::pair{-1, 0}, std::pair{std::numeric_limits<std::int32_t>::min(), 0});
    PagedCase test({.block_size = 4, .seq_lens = {8, 7}});
    test.tables().max_blocks_per_seq = 2;
    std::erase(test.tables().block_tables, 1 << 30);  // the padding
    test.tables().seq_lens[0] = seq_len;
    CAPTURE(seq_len);
    const DeviceResult result = DeviceCase(test.params()).run();
    CHECK(result.status == nanoserve::kClampedLength);
    test.tables().seq_lens[0] = clamped;
    require_close(result.out.data(), result.lse.data(), test.params());
}

TEST_CASE("both faults set both bits of the status word, and none is needed", "[kernels]") {
    needs_gpu();
    PagedCase test({.block_size = 4, .seq_lens = {8, 7}});
    test.tables().block_tables[0] = -1;
    test.tables().seq_lens[1] = -5;
    DeviceCase device(test.params());
    const DeviceResult result = device.run();
    CHECK(result.status == (nanoserve::kAbsentBlock | nanoserve::kClampedLength));
    device.poison_outputs();
    nanoserve::general_attention(device.params(), nullptr);
    CHECK(same_bits(device.result(), result));
    CHECK(device.result().status == 0);
}

TEST_CASE("an empty batch launches nothing and needs no pointers", "[kernels]") {
    needs_gpu();
    PagedCase test({.seq_lens = {3}});
    PagedAttentionParams params = test.params();
    params.num_seqs = 0;
    params.q = nullptr;
    params.seq_lens = nullptr;
    nanoserve::general_attention(params, nullptr);
    NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
}

TEST_CASE("general_attention refuses what it does not take, before a launch", "[kernels]") {
    needs_gpu();
    const auto refused = [](const PagedAttentionParams& params, const char* message) {
        CHECK_THROWS_MATCHES(nanoserve::general_attention(params, nullptr), std::invalid_argument,
                             Message(message));
    };
    PagedCase test({.seq_lens = {1}});
    PagedAttentionParams params = test.params();
    params.num_q_heads = 7;
    refused(params, "num_q_heads is 7, which is no multiple of num_kv_heads 2");
    params = test.params();
    params.out = nullptr;
    refused(params, "out is null");
    params = test.params();
    params.num_seqs = std::int64_t{1} << 28;
    refused(params, "num_seqs is 268435456; with 8 query heads a grid holds 268435455");
    for (const std::int32_t head_dim : {4, 12, 264}) {
        PagedCase odd({.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = head_dim},
                       .seq_lens = {1}});
        CHECK_THROWS_AS(nanoserve::general_attention(odd.params(), nullptr), std::invalid_argument);
    }
}

TEST_CASE("general_attention gives the same bits every time", "[kernels]") {
    needs_gpu();
    PagedCase test({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 128},
                    .block_size = 16,
                    .seq_lens = {2000},
                    .dtype = DType::fp16,
                    .io_dtype = DType::fp16});
    const PagedAttentionParams params = test.params();
    DeviceCase device(params);
    const DeviceResult first = device.run();
    require_close(first.out.data(), first.lse.data(), params);
    for (int i = 0; i < 100; ++i) {
        REQUIRE(same_bits(device.run(), first));
    }
}

TEST_CASE("a row of a batch has the bits that it has alone", "[kernels]") {
    needs_gpu();
    PagedCase test({.block_size = 16, .seq_lens = {100, 0, 33, 257}});
    PagedAttentionParams params = test.params();
    const DeviceResult batch = DeviceCase(params).run();
    params.num_seqs = 1;
    const DeviceResult alone = DeviceCase(params).run();
    CHECK(std::equal(alone.out.begin(), alone.out.end(), batch.out.begin()));
    CHECK(std::memcmp(alone.lse.data(), batch.lse.data(), alone.lse.size() * sizeof(float)) == 0);
}

TEST_CASE("a captured general_attention reads the lengths of each replay", "[kernels]") {
    needs_gpu();
    PagedCase test({.block_size = 4, .seq_lens = {20, 9}});
    const PagedAttentionParams params = test.params();
    DeviceCase device(params);
    const Stream stream;
    cudaGraph_t graph = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
    nanoserve::general_attention(device.params(), stream.get(), device.status());
    NANOSERVE_CUDA_TRY(cudaStreamEndCapture(stream.get(), &graph));
    cudaGraphExec_t replay = nullptr;
    NANOSERVE_CUDA_TRY(cudaGraphInstantiate(&replay, graph, 0));
    for (const auto& seq_lens : std::vector<std::vector<std::int32_t>>{{20, 9}, {3, 0}, {17, 8}}) {
        device.write_seq_lens(seq_lens);
        device.poison_outputs();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        NANOSERVE_CUDA_TRY(cudaGraphLaunch(replay, stream.get()));
        const DeviceResult result = device.result();
        test.tables().seq_lens = seq_lens;
        CHECK(result.status == 0);
        require_close(result.out.data(), result.lse.data(), test.params());
    }
    NANOSERVE_CUDA_TRY(cudaGraphExecDestroy(replay));
    NANOSERVE_CUDA_TRY(cudaGraphDestroy(graph));
}

TEST_CASE("OPEN-15: general_attention takes more sequences than a grid has rows",
          "[kernels][heavy]") {
    needs_gpu();
    // One token each, in one of four blocks: its weight is exactly 1, so out is its V row.
    constexpr std::int32_t kNumSeqs = 65536 + 3;
    constexpr std::int32_t kHeadDim = 8;
    std::vector<float> k(4 * kHeadDim, 0.5f);
    std::vector<float> v(4 * kHeadDim);
    std::vector<nanoserve::BlockId> tables(kNumSeqs);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = 1.5f + static_cast<float>(i / kHeadDim);
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
        tables[i] = static_cast<nanoserve::BlockId>(i * 7 % 4);
    }
    const DeviceBuffer k_cache(k), v_cache(v), block_tables(tables),
        q(std::vector<float>(kNumSeqs * kHeadDim, 1.0f)),
        seq_lens(std::vector<std::int32_t>(kNumSeqs, 1)), out(kNumSeqs * kHeadDim * sizeof(float));
    const PagedAttentionParams params = {
        .q = q.data(),
        .out = out.data(),
        .num_q_heads = 1,
        .kv = {.k_cache = k_cache.data(),
               .v_cache = v_cache.data(),
               .layout = nanoserve::nhd_layout(
                   {.num_blocks = 4, .block_size = 1, .num_kv_heads = 1, .head_dim = kHeadDim})},
        .block_tables = block_tables.as<nanoserve::BlockId>(),
        .seq_lens = seq_lens.as<std::int32_t>(),
        .num_seqs = kNumSeqs,
        .max_blocks_per_seq = 1};
    nanoserve::general_attention(params, nullptr);
    const auto result = out.to_host<float>();
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        num_wrong += result[i] != 1.5f + static_cast<float>(tables[i / kHeadDim]);
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("OPEN-07: general_attention finds a block more than 2^31 elements into the pool",
          "[kernels][heavy]") {
    needs_gpu();
    // K and V interleaved, 4.6 GB of bf16, all NaN but one block: a wrapped offset can't find it.
    constexpr std::int32_t kFarBlock = 70000;
    const nanoserve::AttentionShape shape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 128};
    PagedCase test({.shape = shape,
                    .block_size = 16,
                    .seq_lens = {13},
                    .dtype = DType::bf16,
                    .io_dtype = DType::bf16,
                    .order = PoolOrder::interleaved});
    const PagedAttentionParams params = test.params();
    nanoserve::KVLayout layout = params.kv.layout;
    layout.num_blocks = kFarBlock + 1;
    const auto block_bytes = static_cast<std::size_t>(layout.block_stride) * 2;
    std::size_t free_bytes = 0, total_bytes = 0;
    NANOSERVE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (free_bytes < block_bytes * (kFarBlock + 1) + (std::size_t{1} << 30)) {
        SKIP("needs 6 GB of free device memory");
    }
    REQUIRE(kFarBlock * layout.block_stride > std::int64_t{1} << 31);

    DeviceBuffer pool(block_bytes * (kFarBlock + 1));
    const auto* owned = static_cast<const std::byte*>(params.kv.k_cache) +
                        static_cast<std::size_t>(test.tables().block_tables[0]) * block_bytes;
    NANOSERVE_CUDA_TRY(cudaMemcpy(pool.data() + kFarBlock * block_bytes, owned, block_bytes,
                                  cudaMemcpyHostToDevice));
    DeviceCase device(params);
    BlockTables tables = test.tables();
    tables.block_tables[0] = kFarBlock;
    device.set_tables(tables);
    PagedAttentionParams on_device = device.params();
    on_device.kv = {
        .k_cache = pool.data(), .v_cache = pool.data() + block_bytes / 2, .layout = layout};
    device.poison_outputs();
    nanoserve::general_attention(on_device, nullptr, device.status());
    const DeviceResult result = device.result();
    CHECK(result.status == 0);
    require_close(result.out.data(), result.lse.data(), params);
}
