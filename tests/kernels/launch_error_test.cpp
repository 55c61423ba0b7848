// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A launch that the device refuses is an error of the call that launched, and of no other.
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <kernels/async_copy.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/gather_attention.hpp>
#include <kernels/paged_attention.hpp>
#include <kernels/paged_decode.hpp>
#include <kernels/scatter_kv.hpp>
#include <kernels/shared_heads.hpp>
#include <kernels/split_kv.hpp>
#include <kernels/split_kv/merge.hpp>
#include <kernels/tensor_cores.hpp>

#include <iterator>

using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;

namespace {

// A stream that was told to wait for itself while it recorded a graph: it refuses every launch.
class RefusingStream {
  public:
    RefusingStream() {
        NANOSERVE_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        NANOSERVE_CUDA_TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
        REQUIRE(cudaStreamSynchronize(stream_) == cudaErrorStreamCaptureUnsupported);
    }
    RefusingStream(const RefusingStream&) = delete;
    RefusingStream& operator=(const RefusingStream&) = delete;
    ~RefusingStream() {
        cudaGraph_t graph = nullptr;
        (void)cudaStreamEndCapture(stream_, &graph);  // fails, which ends the recording
        (void)cudaGetLastError();
        (void)cudaStreamDestroy(stream_);
    }
    [[nodiscard]] cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

using Launch = void (*)(const PagedAttentionParams& params, void* scratch, cudaStream_t stream);

constexpr std::size_t kScratchBytes = 1 << 20;
constexpr nanoserve::AsyncCopyPlan kTwoSplits = {
    .num_stages = 1, .num_warps = 1, .heads_per_block = 1, .num_splits = 2};

std::uint32_t* word_of(void* scratch) {
    return static_cast<std::uint32_t*>(scratch);
}

struct Launcher {
    const char* name;
    Launch launch;
};

// One for each function that launches; launch_merge is the second launch of three of them.
const Launcher kLaunchers[] = {
    {"general_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::general_attention(params, stream, word_of(scratch));
     }},
    {"shared_heads_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::shared_heads_attention(params, stream, word_of(scratch));
     }},
    {"split_kv_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::split_kv_attention(params, 2, scratch, kScratchBytes, stream);
     }},
    {"async_copy_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::async_copy_attention(params, kTwoSplits, scratch, kScratchBytes, stream);
     }},
    {"tensor_core_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::tensor_core_attention(params, kTwoSplits, scratch, kScratchBytes, stream);
     }},
    {"launch_merge",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::launch_merge(params, nanoserve::partials_in(params, 2, scratch, kScratchBytes),
                                 stream);
     }},
    {"paged_decode",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::paged_decode(params, stream, word_of(scratch));
     }},
    {"paged_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::paged_attention(params, stream, word_of(scratch));
     }},
    {"gather_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::gather_attention(params, scratch, kScratchBytes, stream);
     }},
    {"scatter_kv",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         auto* pool = static_cast<std::byte*>(scratch);
         const auto* rows = static_cast<const float*>(params.kv.k_cache);
         const auto* slots = reinterpret_cast<const std::int64_t*>(params.block_tables);
         nanoserve::scatter_kv(pool, pool + kScratchBytes / 2, params.kv.layout, {rows, rows, 1},
                               slots, stream);
     }},
    {"load_only_nhd",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::load_only_nhd(params, word_of(scratch), stream);
     }},
    {"load_only_hnd",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         PagedAttentionParams hnd = params;  // the same bytes in the other order
         nanoserve::KVLayout& layout = hnd.kv.layout;
         layout.token_stride = layout.head_dim;
         layout.head_stride = std::int64_t{layout.block_size} * layout.head_dim;
         nanoserve::load_only_hnd(hnd, word_of(scratch), stream);
     }},
    {"load_only_by_head",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::load_only_by_head(params, word_of(scratch), stream);
     }},
    {"read_stream",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::read_stream(params.kv.k_cache, 1024, word_of(scratch), stream);
     }},
};

Launcher any_launcher() {
    return GENERATE(from_range(std::begin(kLaunchers), std::end(kLaunchers)));
}

// Every launcher takes it.
PagedCase launchable() {
    return PagedCase({.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 64},
                      .block_size = 16,
                      .seq_lens = {9},
                      .dtype = DType::bf16,
                      .io_dtype = DType::bf16});
}

}  // namespace

TEST_CASE("OPEN-21: a launch that the device refuses throws, and the next one works", "[kernels]") {
    needs_gpu();
    const Launcher launcher = any_launcher();
    CAPTURE(launcher.name);
    PagedCase test = launchable();
    const DeviceCase device(test.params());
    const DeviceBuffer scratch(kScratchBytes);
    // Its code is loaded then: what is refused is the launch.
    CHECK_NOTHROW(launcher.launch(device.params(), scratch.data(), nullptr));
    {
        const RefusingStream stream;
        CHECK_THROWS_AS(launcher.launch(device.params(), scratch.data(), stream.get()),
                        nanoserve::CudaError);
    }
    CHECK_NOTHROW(launcher.launch(device.params(), scratch.data(), nullptr));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("OPEN-21: no launch takes the error of an earlier call for its own", "[kernels]") {
    needs_gpu();
    PagedCase test = launchable();
    const DeviceCase device(test.params());
    const DeviceBuffer scratch(kScratchBytes);
    for (const Launcher& launcher : kLaunchers) {
        CAPTURE(launcher.name);
        void* too_large = nullptr;
        REQUIRE(cudaMalloc(&too_large, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
        CHECK_NOTHROW(launcher.launch(device.params(), scratch.data(), nullptr));
        (void)cudaGetLastError();  // where no call of CUDA's has cleared it
    }
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

// Run where ctest has hidden the devices: they would follow pointers of the host.
TEST_CASE("without a device every launch is an error", "[.][no_device]") {
    REQUIRE(nanoserve::reason_for_no_device());
    const Launcher launcher = any_launcher();
    CAPTURE(launcher.name);
    PagedCase test = launchable();
    alignas(16) static std::byte scratch[kScratchBytes];
    CHECK_THROWS_AS(launcher.launch(test.params(), scratch, nullptr), nanoserve::CudaError);
}
