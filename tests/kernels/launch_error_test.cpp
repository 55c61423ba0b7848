// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A launch that the device refuses is an error of the call that launched, and of no other.
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"
#include "support/paged_case.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <kernels/ceilings.hpp>
#include <kernels/gather_attention.hpp>
#include <kernels/scatter_kv.hpp>

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
        (void)cudaGetLastError();  // or the launch would only repeat this error
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

struct Launcher {
    const char* name;
    Launch launch;
};

const Launcher kLaunchers[] = {
    {"general_attention",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::general_attention(params, stream, static_cast<std::uint32_t*>(scratch));
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
         nanoserve::load_only_nhd(params, static_cast<std::uint32_t*>(scratch), stream);
     }},
    {"read_stream",
     [](const PagedAttentionParams& params, void* scratch, cudaStream_t stream) {
         nanoserve::read_stream(params.kv.k_cache, 1024, static_cast<std::uint32_t*>(scratch),
                                stream);
     }},
};

}  // namespace

TEST_CASE("OPEN-21: a launch that the device refuses throws, and the next one works", "[kernels]") {
    needs_gpu();
    const Launcher& launcher = kLaunchers[GENERATE(0, 1, 2, 3, 4)];
    CAPTURE(launcher.name);
    PagedCase test(
        {.shape = {.num_q_heads = 2, .num_kv_heads = 2, .head_dim = 64}, .seq_lens = {9}});
    const DeviceCase device(test.params());
    const DeviceBuffer scratch(kScratchBytes);
    {
        const RefusingStream stream;
        CHECK_THROWS_AS(launcher.launch(device.params(), scratch.data(), stream.get()),
                        nanoserve::CudaError);
    }
    CHECK_NOTHROW(launcher.launch(device.params(), scratch.data(), nullptr));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}
