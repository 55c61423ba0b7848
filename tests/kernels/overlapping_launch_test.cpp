// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Launches of paged_decode that start before the kernel before them has ended.
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"
#include "support/paged_case.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/paged_decode.hpp>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr int kNumSteps = 32;

// Each step's output is the next one's query. The scores are far apart, so that each step gives
// nearly the V row of one token: a query that has come too early leads to another row, and from
// there to others still.
class Chain {
  public:
    Chain(PagedCase& test, const DecodePlan& plan)
        : device_(test.params()),
          plan_(plan),
          first_query_(test.out().size()),
          queries_{DeviceBuffer(first_query_.size()), DeviceBuffer(first_query_.size())},
          workspace_bytes_(paged_decode_workspace_bytes(device_.params())),
          workspace_(workspace_bytes_) {
        NANOSERVE_CUDA_TRY(cudaMemcpy(first_query_.data(), device_.params().q, first_query_.size(),
                                      cudaMemcpyDeviceToHost));
        NANOSERVE_CUDA_TRY(cudaMemset(workspace_.data(), 0, workspace_bytes_));
    }

    std::vector<std::byte> run(LaunchOrder order) {
        set_first_query();
        launch_all(order, nullptr);
        return queries_[kNumSteps % 2].to_host();
    }

    std::vector<std::byte> replay(LaunchOrder order) {
        cudaStream_t stream = nullptr;
        NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        const GraphReplay graph(stream, [&] { launch_all(order, stream); });
        set_first_query();
        graph.launch();
        auto last = queries_[kNumSteps % 2].to_host();
        (void)cudaStreamDestroy(stream);
        return last;
    }

  private:
    void set_first_query() {
        NANOSERVE_CUDA_TRY(cudaMemcpy(queries_[0].data(), first_query_.data(), first_query_.size(),
                                      cudaMemcpyHostToDevice));
        queries_[1].poison();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
    }

    void launch_all(LaunchOrder order, cudaStream_t stream) {
        PagedAttentionParams params = device_.params();
        params.lse = nullptr;
        params.sm_scale = 4.0f;
        for (int step = 0; step < kNumSteps; ++step) {
            params.q = queries_[step % 2].data();
            params.out = queries_[(step + 1) % 2].data();
            paged_decode(params, plan_, stream, nullptr, {workspace_.data(), workspace_bytes_},
                         order);
        }
    }

    DeviceCase device_;
    DecodePlan plan_;
    std::vector<std::byte> first_query_;
    DeviceBuffer queries_[2];
    std::size_t workspace_bytes_;
    DeviceBuffer workspace_;
};

// How a chain's launches are cut up. A test case each, since tools take minutes over one.
struct OneTile {
    static constexpr DecodePlan kPlan = {};
    static constexpr std::int32_t kSeqLen = 16;
};
struct SharedHead {
    static constexpr DecodePlan kPlan = {.num_warps = 8};
    static constexpr std::int32_t kSeqLen = 700;
};
struct HeadsTogether {
    static constexpr DecodePlan kPlan = {.num_warps = 4, .heads_per_block = 4};
    static constexpr std::int32_t kSeqLen = 300;
};
struct Cluster {
    static constexpr DecodePlan kPlan = {.num_warps = 8, .num_splits = 8};
    static constexpr std::int32_t kSeqLen = 2000;
};
struct Balanced {
    static constexpr DecodePlan kPlan = {
        .num_warps = 8, .num_splits = 1, .evict_first = true, .balance = true};
    static constexpr std::int32_t kSeqLen = 2000;
};

PagedCase case_of(std::int32_t seq_len) {  // of one tile: in tables with room for no more
    return PagedCase({.shape = {.num_q_heads = 16, .num_kv_heads = 4, .head_dim = 64},
                      .block_size = 16,
                      .seq_lens = {seq_len, 1, seq_len, 0, seq_len / 2},
                      .dtype = DType::bf16,
                      .io_dtype = DType::bf16,
                      .spare_entry = false});
}

// Runs a chain in order, then `overlapped` a few times.
template <class Shape>
void require_same_chain(std::vector<std::byte> (Chain::*overlapped)(LaunchOrder)) {
    needs_gpu();
    PagedCase test = case_of(Shape::kSeqLen);
    Chain chain(test, Shape::kPlan);
    const auto expected = chain.run(LaunchOrder::after_previous);
    for (int i = 0; i < 4; ++i) {
        REQUIRE((chain.*overlapped)(LaunchOrder::overlapping_previous) == expected);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("a launch that overlaps the one before it still reads what that one wrote",
                   "[kernels][decode][overlap]", OneTile, SharedHead, HeadsTogether, Cluster,
                   Balanced) {
    require_same_chain<TestType>(&Chain::run);
}

TEMPLATE_TEST_CASE("captured launches that overlap read what those before them wrote",
                   "[kernels][decode][overlap]", OneTile, SharedHead, HeadsTogether, Cluster,
                   Balanced) {
    require_same_chain<TestType>(&Chain::replay);
}
