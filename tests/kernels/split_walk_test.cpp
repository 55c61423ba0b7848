// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What holds of async_copy_attention and of tensor_core_attention alike, on a GPU: the oracle's
// numbers for every way of cutting up the work, and nothing read that is not the sequence's own.
#include "kernels/kernel_checks.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/async_copy.hpp>
#include <kernels/async_copy/rounding_bounds.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/tensor_cores.hpp>

#include <cstring>
#include <random>
#include <string>

using Catch::Matchers::Message;
using nanoserve::AsyncCopyPlan;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::same_bits;
using nanoserve::testing::without_absent_blocks;

namespace {

struct AsyncCopy {
    static constexpr auto kLaunch = nanoserve::async_copy_attention;
    static constexpr auto kBounds = nanoserve::async_copy_rounding_bounds;
    static constexpr int kMaxGroupSize = 8;
    static constexpr const char* kName = "async_copy_attention";
};

struct TensorCores {
    static constexpr auto kLaunch = nanoserve::tensor_core_attention;
    static constexpr auto kBounds = nanoserve::paged_decode_rounding_bounds;
    static constexpr int kMaxGroupSize = 16;
    static constexpr const char* kName = "tensor_core_attention";
};

// A batch on the device, and a workspace for the plan: NaN at first, like everything else there.
template <class Kernel>
class Run {
  public:
    Run(const PagedAttentionParams& params, const AsyncCopyPlan& plan)
        : plan_(plan),
          device_(params),
          workspace_bytes_(nanoserve::partials_bytes(params, plan.num_splits)),
          workspace_(workspace_bytes_) {}

    void launch(cudaStream_t stream = nullptr) {
        Kernel::kLaunch(device_.params(), plan_, workspace_.data(), workspace_bytes_, stream,
                        device_.status());
    }
    DeviceResult result() {
        device_.poison_outputs();
        workspace_.poison();
        launch();
        return device_.result();
    }
    DeviceCase& device() { return device_; }

  private:
    AsyncCopyPlan plan_;
    DeviceCase device_;
    std::size_t workspace_bytes_;
    DeviceBuffer workspace_;
};

template <class Kernel>
void require_oracle(const DeviceResult& result, const PagedAttentionParams& params) {
    nanoserve::testing::require_within(result.out.data(), result.lse.data(), params,
                                       Kernel::kBounds(params));
}

template <class Kernel>
void check(PagedCase& test, const AsyncCopyPlan& plan) {
    CAPTURE(test.describe(), plan.num_stages, plan.num_warps, plan.heads_per_block,
            plan.num_splits);
    const PagedAttentionParams params = test.params();
    const DeviceResult result = Run<Kernel>(params, plan).result();
    REQUIRE(result.status == 0);
    require_oracle<Kernel>(result, params);
}

template <class Kernel>
void check(const CaseSpec& spec, const AsyncCopyPlan& plan) {
    PagedCase test(spec);
    check<Kernel>(test, plan);
}

CaseSpec spec_of(DType dtype, std::vector<std::int32_t> seq_lens) {
    return {.shape = {.num_q_heads = 16, .num_kv_heads = 4, .head_dim = 64},
            .block_size = 16,
            .seq_lens = std::move(seq_lens),
            .dtype = dtype,
            .io_dtype = dtype};
}

}  // namespace

TEMPLATE_TEST_CASE("a split walk agrees with the oracle however the work is cut up",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    const int num_stages = GENERATE(range(1, 7));
    const int num_warps = GENERATE(1, 2, 4, 8);
    const int heads = GENERATE(1, 4);
    const int num_splits = GENERATE(1, 4, 32);
    if (heads > num_warps) {
        return;
    }
    check<TestType>(spec_of(DType::bf16, {0, 1, 15, 16, 17, 300, 1037}),
                    {num_stages, num_warps, heads, num_splits});
}

TEMPLATE_TEST_CASE("a split walk agrees with the oracle at every group size and head_dim",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    const std::int32_t group_size = GENERATE(range(1, 17));
    const std::int32_t head_dim = GENERATE(64, 128);
    if (group_size > TestType::kMaxGroupSize) {
        return;
    }
    CaseSpec spec = spec_of(GENERATE(DType::bf16, DType::fp16), {0, 33, 700});
    spec.shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = head_dim};
    check<TestType>(spec, {3, 8, 2, 4});
    check<TestType>(spec, {1, 2, 2, 1});  // nothing to merge
    check<TestType>(spec, {6, 4, 1, 1});
}

TEMPLATE_TEST_CASE("a split walk agrees for every block size, type and order of the pool",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    CaseSpec spec = spec_of(GENERATE(DType::bf16, DType::fp16), {});
    spec.block_size = GENERATE(16, 32, 64, 256);
    spec.order = GENERATE(PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved);
    spec.shape.head_dim = GENERATE(64, 128);
    const std::int32_t edge = spec.block_size;
    spec.seq_lens = {0, 1, edge - 1, edge, edge + 1, 2 * edge + 17};
    check<TestType>(spec, {2, 4, 2, 2});
}

TEMPLATE_TEST_CASE("a split walk agrees on random batches, cut up as the plan says",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 21)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CaseSpec spec = spec_of(pick(0, 1) == 0 ? DType::bf16 : DType::fp16, {});
    spec.shape.num_kv_heads = pick(1, 9);
    spec.shape.num_q_heads = spec.shape.num_kv_heads * pick(1, TestType::kMaxGroupSize);
    spec.shape.head_dim = 64 * pick(1, 2);
    spec.seed = seed;
    for (int i = pick(1, 6); i > 0; --i) {
        spec.seq_lens.push_back(pick(0, 1) == 0 ? pick(0, 40) : pick(0, 900));
    }
    PagedCase test(spec);
    const PagedAttentionParams params = test.params();
    check<TestType>(test, nanoserve::plan_async_copy(params));
}

TEMPLATE_TEST_CASE("a split walk agrees when one token takes nearly all the weight",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    CaseSpec spec = spec_of(DType::bf16, {300});
    spec.q_scale = 40.0f;
    spec.seed = 7;
    check<TestType>(spec, {4, 8, 1, 2});
}

// Each token's score passes the one before, by a weight of more than 2^8 for each tile of a warp.
TEMPLATE_TEST_CASE("a split walk moves its sums when scores grow", "[kernels][split_walk]",
                   AsyncCopy, TensorCores) {
    needs_gpu();
    PagedCase test(spec_of(DType::bf16, {200}));
    test.set_q(0.25f);
    for (int t = 0; t < 200; ++t) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(t / 16)];
        for (int head = 0; head < 4; ++head) {
            test.set_row(true, block, t % 16, head, static_cast<float>(t) / 4.0f);
        }
    }
    check<TestType>(test, GENERATE(AsyncCopyPlan{4, 1, 1, 1}, AsyncCopyPlan{1, 8, 1, 1},
                                   AsyncCopyPlan{2, 4, 4, 2}));
}

TEMPLATE_TEST_CASE("a split walk takes sm_scale as given: 0 and a negative one too",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    PagedCase test(spec_of(DType::fp16, {37}));
    PagedAttentionParams params = test.params();
    params.sm_scale = GENERATE(0.0f, -0.5f, 1.0f);
    require_oracle<TestType>(Run<TestType>(params, {2, 2, 1, 2}).result(), params);
}

TEMPLATE_TEST_CASE("a split walk reads q out of a packed row, and may leave out lse",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    constexpr AsyncCopyPlan kPlan = {4, 4, 2, 2};
    PagedCase test(spec_of(DType::bf16, {9, 40}));
    PagedAttentionParams params = test.params();
    const DeviceResult expected = Run<TestType>(params, kPlan).result();
    const std::size_t row = 16 * 64;
    std::vector<std::uint16_t> packed(2 * (row + 64), 0x7fff);
    for (std::size_t seq = 0; seq < 2; ++seq) {
        std::memcpy(packed.data() + seq * (row + 64),
                    static_cast<const std::uint16_t*>(params.q) + seq * row,
                    row * sizeof(std::uint16_t));
    }
    params.q = packed.data();
    params.q_stride = static_cast<std::int64_t>(row) + 64;
    CHECK(same_bits(Run<TestType>(params, kPlan).result(), expected));
    params.lse = nullptr;
    const DeviceResult result = Run<TestType>(params, kPlan).result();
    CHECK(result.out == expected.out);
    CHECK(std::isnan(result.lse[0]));
}

TEMPLATE_TEST_CASE("a split walk leaves out absent blocks and clamps lengths, and says so",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    const std::int32_t bad = GENERATE(-1, 1 << 30, std::numeric_limits<std::int32_t>::min());
    const std::size_t place = GENERATE(0, 1, 3);
    const AsyncCopyPlan plan = GENERATE(AsyncCopyPlan{1, 1, 1, 1}, AsyncCopyPlan{4, 8, 2, 2});
    PagedCase test(spec_of(DType::bf16, {60, 20}));
    test.tables().block_tables[place] = bad;
    PagedAttentionParams params = test.params();
    const DeviceResult result = Run<TestType>(params, plan).result();
    CHECK(result.status == nanoserve::kAbsentBlock);
    nanoserve::BlockTables rest = without_absent_blocks(test.tables(), params.kv.layout);
    nanoserve::set_block_tables(params, rest);
    require_oracle<TestType>(result, params);

    PagedCase too_long(spec_of(DType::bf16, {60, 20}));
    params = too_long.params();
    const std::int32_t room =
        static_cast<std::int32_t>(params.max_blocks_per_seq * params.kv.layout.block_size);
    Run<TestType> clamped(params, plan);
    clamped.device().write_seq_lens({room + 5, -3});
    const DeviceResult of_clamped = clamped.result();
    CHECK((of_clamped.status & nanoserve::kClampedLength) != 0);
    CHECK(of_clamped.lse[16] == -INFINITY);  // -3 tokens are none
}

TEMPLATE_TEST_CASE(
    "a split walk gives the same bits every time, and captured it follows the lengths",
    "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    const AsyncCopyPlan plan = GENERATE(AsyncCopyPlan{2, 1, 1, 1}, AsyncCopyPlan{3, 8, 1, 8});
    PagedCase test(spec_of(DType::bf16, {500, 1, 77}));
    PagedAttentionParams params = test.params();
    Run<TestType> run(params, plan);
    const DeviceResult first = run.result();
    for (int i = 0; i < 5; ++i) {
        CHECK(same_bits(run.result(), first));
    }

    cudaStream_t stream = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const nanoserve::GraphReplay replay(stream, [&] { run.launch(stream); });
    for (const std::vector<std::int32_t>& seq_lens :
         {std::vector<std::int32_t>{3, 0, 50}, std::vector<std::int32_t>{499, 1, 77}}) {
        run.device().write_seq_lens(seq_lens);
        run.device().poison_outputs();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        replay.launch();
        params.seq_lens = seq_lens.data();
        require_oracle<TestType>(run.device().result(), params);
    }
    (void)cudaStreamDestroy(stream);
}

TEMPLATE_TEST_CASE("a split walk refuses what it does not take, before a launch",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    PagedCase test(spec_of(DType::bf16, {20}));
    const DeviceCase device(test.params());
    PagedAttentionParams params = device.params();
    const std::size_t bytes = nanoserve::partials_bytes(params, 2);
    const DeviceBuffer workspace(bytes);
    const auto refuses = [&](const AsyncCopyPlan& plan, std::size_t workspace_bytes,
                             const std::string& text) {
        CHECK_THROWS_MATCHES(
            TestType::kLaunch(params, plan, workspace.data(), workspace_bytes, nullptr, nullptr),
            std::invalid_argument, Message(text));
    };
    refuses({7, 1, 1, 1}, bytes, "num_stages is 7; it must be 1 to 6");
    refuses({1, 1, 1, 2}, bytes - 4,
            "workspace_bytes is " + std::to_string(bytes - 4) + "; 2 splits need " +
                std::to_string(bytes));
    params.io_dtype = DType::fp32;
    refuses({1, 1, 1, 1}, bytes,
            std::string(TestType::kName) + " takes bf16 or fp16, the same for pool, q and out");
    params.num_seqs = 0;
    params.io_dtype = DType::bf16;
    CHECK_NOTHROW(TestType::kLaunch(params, {1, 1, 1, 1}, nullptr, 0, nullptr, nullptr));
}

// One token each, in one of four blocks: its weight is exactly 1, so out is its V row.
TEMPLATE_TEST_CASE("a split walk takes more sequences than a grid has rows",
                   "[kernels][split_walk]", AsyncCopy, TensorCores) {
    needs_gpu();
    constexpr std::size_t kNumSeqs = 65535 + 4;
    constexpr std::size_t kHeadDim = 64;
    constexpr std::size_t kBlockElements = 16 * kHeadDim;
    const auto value_of = [](std::size_t block) {
        return nanoserve::from_float<nanoserve::Bf16>(1.5f + static_cast<float>(block));
    };
    std::vector<nanoserve::Bf16> k(4 * kBlockElements), v(4 * kBlockElements),
        q(kNumSeqs * kHeadDim);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = value_of(i / kBlockElements);
    }
    std::vector<nanoserve::BlockId> tables(kNumSeqs);
    for (std::size_t seq = 0; seq < kNumSeqs; ++seq) {
        tables[seq] = static_cast<nanoserve::BlockId>(seq * 7 % 4);
    }
    const DeviceBuffer k_cache(k), v_cache(v), queries(q), block_tables(tables),
        seq_lens(std::vector<std::int32_t>(kNumSeqs, 1)), out(q.size() * sizeof(q[0]));
    PagedAttentionParams params;
    params.q = queries.data();
    params.out = out.data();
    params.io_dtype = DType::bf16;
    params.num_q_heads = 1;
    params.kv = {k_cache.data(), v_cache.data(),
                 nanoserve::nhd_layout({.dtype = DType::bf16,
                                        .num_blocks = 4,
                                        .block_size = 16,
                                        .num_kv_heads = 1,
                                        .head_dim = kHeadDim})};
    params.block_tables = block_tables.as<nanoserve::BlockId>();
    params.seq_lens = seq_lens.as<std::int32_t>();
    params.num_seqs = kNumSeqs;
    params.max_blocks_per_seq = 1;
    const std::size_t workspace_bytes = nanoserve::partials_bytes(params, 1);
    const DeviceBuffer workspace(workspace_bytes);
    TestType::kLaunch(params, {1, 1, 1, 1}, workspace.data(), workspace_bytes, nullptr, nullptr);
    const auto result = out.to_host<nanoserve::Bf16>();
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        num_wrong +=
            result[i].bits != value_of(static_cast<std::size_t>(tables[i / kHeadDim])).bits;
    }
    CHECK(num_wrong == 0);
}
