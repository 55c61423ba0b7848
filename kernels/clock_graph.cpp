// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/clock_graph.hpp>
#include <kernels/cuda_error.hpp>

namespace nanoserve {
namespace {

struct DestroyGraph {
    void operator()(cudaGraph_t graph) const noexcept { (void)cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;

}  // namespace

void GraphReplay::begin_capture() const {
    require(stream_ != nullptr, "the default stream can't be captured; create a stream");
    NANOSERVE_CUDA_TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
}

void GraphReplay::abandon_capture() const noexcept {
    cudaGraph_t captured = nullptr;
    (void)cudaStreamEndCapture(stream_, &captured);
    if (captured != nullptr) {
        (void)cudaGraphDestroy(captured);
    }
    (void)cudaGetLastError();  // the callable's own error is the one to report
}

void GraphReplay::end_capture() {
    cudaGraph_t captured = nullptr;
    NANOSERVE_CUDA_TRY(cudaStreamEndCapture(stream_, &captured));
    const Graph graph(captured);
    NANOSERVE_CUDA_TRY(cudaGraphGetNodes(graph.get(), nullptr, &num_nodes_));
    require(num_nodes_ > 0, "nothing was recorded: no launch went to the stream of the capture");
    cudaGraphExec_t exec = nullptr;
    NANOSERVE_CUDA_TRY(cudaGraphInstantiate(&exec, graph.get(), 0));
    exec_.reset(exec);
    NANOSERVE_CUDA_TRY(cudaGraphUpload(exec, stream_));  // else the first replay would pay for it
}

void GraphReplay::launch() const {
    NANOSERVE_CUDA_TRY(cudaGraphLaunch(exec_.get(), stream_));
}

}  // namespace nanoserve
