// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The balanced launch of paged_decode on a GPU: lengths that differ much, shared by all SMs.
#include "kernels/kernel_checks.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <kernels/clock.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/paged_decode.hpp>

#include <algorithm>
#include <random>
#include <stdexcept>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr DecodePlan kBalanced = {
    .num_warps = 8, .heads_per_block = 1, .num_splits = 1, .evict_first = true, .balance = true};

CaseSpec spec_of(std::vector<std::int32_t> seq_lens) {
    return {.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
            .block_size = 16,
            .seq_lens = std::move(seq_lens),
            .dtype = DType::bf16,
            .io_dtype = DType::bf16};
}

// A batch on the device with a workspace for it.
class Balanced {
  public:
    explicit Balanced(const PagedAttentionParams& params)
        : device_(params), num_bytes_(paged_decode_workspace_bytes(params)), memory_(num_bytes_) {
        NANOSERVE_CUDA_TRY(cudaMemset(memory_.data(), 0, num_bytes_));
    }

    [[nodiscard]] Workspace workspace() const { return {memory_.data(), num_bytes_}; }
    [[nodiscard]] DeviceCase& device() { return device_; }

    DeviceResult run(const DecodePlan& plan) {
        device_.poison_outputs();
        paged_decode(device_.params(), plan, nullptr, device_.status(), workspace());
        return device_.result();
    }

  private:
    DeviceCase device_;
    std::size_t num_bytes_;
    DeviceBuffer memory_;
};

void require_oracle(const DeviceResult& result, const PagedAttentionParams& params) {
    require_within(result.out.data(), result.lse.data(), params,
                   paged_decode_rounding_bounds(params));
}

}  // namespace

TEST_CASE("a balanced launch agrees with the oracle however long the tails are",
          "[kernels][decode][balance]") {
    needs_gpu();
    CaseSpec spec = spec_of(GENERATE(
        std::vector<std::int32_t>{6000, 20, 0, 1},
        std::vector<std::int32_t>{1537, 1536, 1551, 1553},
        std::vector<std::int32_t>{0, 0, 40, 9001}, std::vector<std::int32_t>{4000, 4000, 4000},
        std::vector<std::int32_t>{30, 50}, std::vector<std::int32_t>{0}));
    spec.shape.head_dim = GENERATE(64, 128);
    spec.dtype = GENERATE(DType::bf16, DType::fp8_e4m3);
    DecodePlan plan = kBalanced;
    plan.heads_per_block = GENERATE(1, 2);
    plan.num_warps = GENERATE(2, 8);
    PagedCase test(spec);
    const PagedAttentionParams params = test.params();
    CAPTURE(test.describe(), plan.heads_per_block, plan.num_warps);
    Balanced balanced(params);
    const DeviceResult result = balanced.run(plan);
    REQUIRE(result.status == 0);
    require_oracle(result, params);
    CHECK(same_bits(balanced.run(plan), result));  // the workspace is ready again
}

TEST_CASE("a balanced launch agrees with the oracle on random batches",
          "[kernels][decode][balance]") {
    needs_gpu();
    const auto seed = static_cast<std::uint32_t>(GENERATE(range(1, 13)));
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CaseSpec spec = spec_of({});
    spec.seed = seed;
    spec.dtype = spec.io_dtype = pick(0, 1) == 0 ? DType::bf16 : DType::fp16;
    spec.shape.num_kv_heads = 1 << pick(0, 2);
    spec.shape.num_q_heads = spec.shape.num_kv_heads * pick(1, 16);
    spec.block_size = 16 << pick(0, 2);
    for (int i = pick(2, 70); i > 0; --i) {  // more than 32: the search looks at them in turns
        spec.seq_lens.push_back(pick(0, 19) == 0 ? pick(1500, 4000) : pick(0, 60));
    }
    DecodePlan plan = kBalanced;
    plan.heads_per_block = spec.shape.num_kv_heads;
    PagedCase test(spec);
    const PagedAttentionParams params = test.params();
    Balanced balanced(params);
    CAPTURE(test.describe());
    require_oracle(balanced.run(plan), params);
}

TEST_CASE("a captured balanced launch follows the lengths of each replay",
          "[kernels][decode][balance]") {
    needs_gpu();
    PagedCase test(spec_of({3000, 5000, 77}));
    PagedAttentionParams params = test.params();
    Balanced balanced(params);
    cudaStream_t stream = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const GraphReplay replay(stream, [&] {
        paged_decode(balanced.device().params(), kBalanced, stream, balanced.device().status(),
                     balanced.workspace());
    });
    for (const std::vector<std::int32_t>& seq_lens :
         {std::vector<std::int32_t>{3000, 5000, 77}, std::vector<std::int32_t>{0, 5000, 1},
          std::vector<std::int32_t>{3000, 4, 77}, std::vector<std::int32_t>{1, 0, 0}}) {
        balanced.device().write_seq_lens(seq_lens);
        balanced.device().poison_outputs();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        replay.launch();
        params.seq_lens = seq_lens.data();
        require_oracle(balanced.device().result(), params);
    }
    (void)cudaStreamDestroy(stream);
}

TEST_CASE("a balanced launch leaves out absent blocks of a tail, and the status says so",
          "[kernels][decode][balance]") {
    needs_gpu();
    PagedCase test(spec_of({40, 6000}));
    const std::size_t row = test.tables().block_tables.size() / 2;
    const std::size_t entry = GENERATE(0, 63, 64, 100, 374);
    test.tables().block_tables[row + entry] = -1;
    PagedAttentionParams params = test.params();
    Balanced balanced(params);
    const DeviceResult result = balanced.run(kBalanced);
    CHECK(result.status == kAbsentBlock);
    BlockTables rest = without_absent_blocks(test.tables(), params.kv.layout);
    set_block_tables(params, rest);
    require_oracle(result, params);
}

TEST_CASE("OPEN-15: a workspace is ready again for a batch of another size or shape",
          "[kernels][decode][balance]") {
    needs_gpu();
    std::vector<std::int32_t> many_lens(64, 20);
    many_lens[40] = 6000;
    CaseSpec wide = spec_of({20, 6000, 6000});
    wide.shape = {.num_q_heads = 32, .num_kv_heads = 2, .head_dim = 128};
    const CaseSpec few = spec_of({6000, 20}), many = spec_of(many_lens);
    std::size_t num_bytes = 0;
    for (const CaseSpec& spec : {few, many, wide}) {
        num_bytes = std::max(num_bytes, paged_decode_workspace_bytes(PagedCase(spec).params()));
    }
    const DeviceBuffer memory(num_bytes);
    NANOSERVE_CUDA_TRY(cudaMemset(memory.data(), 0, num_bytes));
    for (const CaseSpec& spec : {few, many, wide, many, many, few}) {
        PagedCase test(spec);
        DeviceCase device(test.params());
        device.poison_outputs();
        paged_decode(device.params(), kBalanced, nullptr, device.status(),
                     {memory.data(), num_bytes});
        require_oracle(device.result(), test.params());
    }
}

TEST_CASE("a balanced launch is refused without its workspace", "[kernels][decode][balance]") {
    needs_gpu();
    PagedCase test(spec_of({20}));
    const DeviceCase device(test.params());
    const std::size_t wanted = paged_decode_workspace_bytes(device.params());
    const DeviceBuffer memory(wanted + 16);
    const auto refused = [&](Workspace workspace) {
        CHECK_THROWS_AS(paged_decode(device.params(), kBalanced, nullptr, nullptr, workspace),
                        std::invalid_argument);
    };
    refused({});
    refused({nullptr, wanted});
    refused({memory.data(), wanted - 1});
    refused({memory.data() + 4, wanted});
    DecodePlan split = kBalanced;
    split.num_splits = 2;
    CHECK_THROWS_AS(paged_decode(device.params(), split, nullptr, nullptr, {memory.data(), wanted}),
                    std::invalid_argument);
}
