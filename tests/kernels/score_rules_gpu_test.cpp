// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Sliding window, soft cap, ALiBi and sinks on a GPU: the oracle's numbers, whatever kernel the
// front door chooses, and a refusal by name from the kernels that have no rules.
#include "kernels/kernel_checks.hpp"
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <kernels/async_copy/plan.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/dispatch.hpp>
#include <kernels/gather_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/shared_heads.hpp>

#include <cmath>
#include <limits>

using nanoserve::AttentionKernel;
using nanoserve::DecodePlan;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::require_close;
using nanoserve::testing::require_within;
using nanoserve::testing::without_absent_blocks;

namespace {

CaseSpec spec_with(unsigned kinds, DType dtype) {
    return {.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
            .block_size = 16,
            .seq_lens = {0, 1, 15, 39, 40, 41, 700},
            .dtype = dtype,
            .io_dtype = dtype == DType::fp32 ? DType::fp32 : DType::bf16,
            .scaled = dtype == DType::fp8_e4m3,
            .q_scale = 2.0f,
            .sliding_window = (kinds & 1) != 0 ? 40 : 0,
            .logits_soft_cap = (kinds & 2) != 0 ? 2.5f : 0.0f,
            .alibi = (kinds & 4) != 0,
            .sinks = (kinds & 8) != 0};
}

void require_oracle(const DeviceResult& result, const PagedAttentionParams& params) {
    REQUIRE(result.status == 0);
    if (choose_kernel(params) == AttentionKernel::decode) {
        require_within(result.out.data(), result.lse.data(), params,
                       nanoserve::paged_decode_rounding_bounds(params));
    } else {
        require_close(result.out.data(), result.lse.data(), params);
    }
}

// Through the front door, or paged_decode cut up as `plan` says.
void check(const CaseSpec& spec, const DecodePlan* plan = nullptr) {
    PagedCase test(spec);
    CAPTURE(test.describe());
    const PagedAttentionParams params = test.params();
    DeviceCase device(params);
    device.poison_outputs();
    if (plan != nullptr) {
        paged_decode(device.params(), *plan, nullptr, device.status());
    } else {
        paged_attention(device.params(), nullptr, device.status());
    }
    require_oracle(device.result(), params);
}

// How the work is cut up. A test case each, since tools take minutes over one.
struct OneWarp {
    static constexpr DecodePlan kPlan = {1, 1, 1, false};
};
struct SharedHead {
    static constexpr DecodePlan kPlan = {8, 1, 1, false};
};
struct HeadsTogether {
    static constexpr DecodePlan kPlan = {4, 2, 1, true};
};
struct Cluster {
    static constexpr DecodePlan kPlan = {8, 1, 8, true};
};
struct ClusterOfHeads {
    static constexpr DecodePlan kPlan = {2, 2, 4, false};
};

}  // namespace

TEST_CASE("paged_attention agrees with the oracle under every set of rules", "[kernels][rules]") {
    needs_gpu();
    const unsigned kinds = GENERATE(range(1u, 16u));
    check(spec_with(kinds, GENERATE(DType::fp32, DType::bf16, DType::fp8_e4m3)));
}

TEST_CASE("general_attention agrees with the oracle under every set of rules", "[kernels][rules]") {
    needs_gpu();
    const unsigned kinds = GENERATE(range(1u, 16u));
    CaseSpec spec = spec_with(kinds, GENERATE(DType::fp32, DType::bf16, DType::fp8_e4m3));
    spec.block_size = GENERATE(3, 16, 48);
    PagedCase test(spec);
    CAPTURE(test.describe());
    const PagedAttentionParams params = test.params();
    const DeviceResult result = DeviceCase(params).run();
    REQUIRE(result.status == 0);
    require_close(result.out.data(), result.lse.data(), params);
}

TEMPLATE_TEST_CASE("paged_decode agrees with the oracle for windows and sinks however it is cut up",
                   "[kernels][decode][rules]", OneWarp, SharedHead, HeadsTogether, Cluster,
                   ClusterOfHeads) {
    needs_gpu();
    CaseSpec spec = spec_with(GENERATE(1u, 8u, 9u), GENERATE(DType::bf16, DType::fp8_e4m3));
    spec.block_size = GENERATE(1, 4, 16, 64);
    spec.shape.head_dim = GENERATE(64, 128, 256);
    if (spec.sliding_window != 0) {
        spec.sliding_window = GENERATE(1, 16, 17, 333);
    }
    check(spec, &TestType::kPlan);
}

TEST_CASE("paged_decode has sinks for every group size", "[kernels][decode][rules]") {
    needs_gpu();
    const std::int32_t group_size = GENERATE(range(1, 17));
    CaseSpec spec = spec_with(9, DType::bf16);
    spec.shape.num_q_heads = 2 * group_size;
    check(spec);
    const DecodePlan nothing_to_merge = {2, 2, 1, false};
    check(spec, &nothing_to_merge);
}

TEST_CASE("a balanced launch has sinks", "[kernels][decode][rules]") {
    needs_gpu();
    CaseSpec spec = spec_with(8, GENERATE(DType::bf16, DType::fp8_e4m3));
    spec.seq_lens = {5000, 0, 3, 20'000};
    PagedCase test(spec);
    const PagedAttentionParams params = test.params();
    DeviceCase device(params);
    DeviceBuffer workspace(std::vector<std::byte>(
        nanoserve::paged_attention_workspace_bytes(device.params()), std::byte{0}));
    device.poison_outputs();
    paged_attention(device.params(), nullptr, device.status(),
                    {.data = workspace.data(), .num_bytes = workspace.to_host().size()});
    require_oracle(device.result(), params);
}

TEST_CASE("a captured launch slides its window with the lengths", "[kernels][decode][rules]") {
    needs_gpu();
    CaseSpec spec = spec_with(9, DType::bf16);
    spec.seq_lens = {500, 1, 77};
    PagedCase test(spec);
    spec.sliding_window = 0;
    PagedCase whole(spec);  // the same tokens, those before the windows too
    PagedAttentionParams params = whole.params();
    params.rules.sliding_window = 40;
    DeviceCase device(params);
    cudaStream_t stream = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const nanoserve::GraphReplay replay(
        stream, [&] { paged_attention(device.params(), stream, device.status()); });
    for (const std::vector<std::int32_t>& seq_lens :
         {std::vector<std::int32_t>{3, 0, 50}, std::vector<std::int32_t>{499, 1, 77}}) {
        device.write_seq_lens(seq_lens);
        device.poison_outputs();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        replay.launch();
        params.seq_lens = seq_lens.data();
        require_oracle(device.result(), params);
    }
    (void)cudaStreamDestroy(stream);
}

TEST_CASE("absent blocks before a window are none of its business", "[kernels][decode][rules]") {
    needs_gpu();
    CaseSpec spec = spec_with(1, DType::bf16);
    spec.block_size = GENERATE(4, 16);
    spec.seq_lens = {100};  // whose entries before the window no pool has: status stays 0
    check(spec);
}

TEST_CASE("an absent block inside a window is left out, and the status says so",
          "[kernels][decode][rules]") {
    needs_gpu();
    CaseSpec spec = spec_with(0, GENERATE(DType::fp32, DType::bf16, DType::fp8_e4m3));
    spec.block_size = GENERATE(4, 16);
    spec.seq_lens = {100};
    PagedCase test(spec);
    test.tables().block_tables[static_cast<std::size_t>(80 / spec.block_size)] = -1;
    PagedAttentionParams params = test.params();
    params.rules.sliding_window = 40;  // tokens 60 to 99
    DeviceCase device(params);
    device.poison_outputs();
    paged_attention(device.params(), nullptr, device.status());
    DeviceResult result = device.result();
    CHECK(result.status == nanoserve::kAbsentBlock);
    nanoserve::BlockTables rest = without_absent_blocks(test.tables(), params.kv.layout);
    set_block_tables(params, rest);
    params.rules.sliding_window -= spec.block_size;
    result.status = 0;
    require_oracle(result, params);
}

TEST_CASE("an impossible length under a window is clamped like any other",
          "[kernels][decode][rules]") {
    needs_gpu();
    CaseSpec spec = spec_with(0, GENERATE(DType::fp32, DType::bf16, DType::fp8_e4m3));
    spec.block_size = GENERATE(1, 16);
    spec.seq_lens = {100, 100};
    PagedCase test(spec);
    PagedAttentionParams params = test.params();
    params.rules.sliding_window = GENERATE(1, 40);
    const auto room =
        static_cast<std::int32_t>(params.max_blocks_per_seq * params.kv.layout.block_size);
    DeviceCase device(params);
    // The entry behind the used ones is one that no pool has, and the clamped length reaches it.
    device.write_seq_lens({std::numeric_limits<std::int32_t>::min(),
                           GENERATE_COPY(room + 5, std::numeric_limits<std::int32_t>::max())});
    device.poison_outputs();
    paged_attention(device.params(), nullptr, device.status());
    const DeviceResult result = device.result();
    CHECK(result.status == (nanoserve::kClampedLength | nanoserve::kAbsentBlock));
    for (std::size_t head = 0; head < result.lse.size() / 2; ++head) {
        CHECK(result.lse[head] == -INFINITY);  // of no tokens
    }
}

TEST_CASE("kernels without rules refuse them", "[kernels][rules]") {
    needs_gpu();
    PagedCase test(spec_with(GENERATE(1u, 2u, 4u, 8u), DType::bf16));
    const DeviceCase device(test.params());
    const PagedAttentionParams params = device.params();
    CHECK(reason_not_to_share_heads(params).has_value());
    CHECK(reason_not_to_copy_async(params).has_value());
    CHECK(reason_not_to_use_tensor_cores(params).has_value());
    CHECK(reason_not_to_decode(params).has_value() == params.rules.change_scores());
    CHECK_THROWS_AS(shared_heads_attention(params, nullptr), std::invalid_argument);
    CHECK_THROWS_AS(load_only_nhd(params, nullptr, nullptr), std::invalid_argument);
    CHECK_THROWS_AS(gather_workspace_bytes(params), std::invalid_argument);
}
