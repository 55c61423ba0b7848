// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// What split_kv_attention has beyond shared_heads_attention, on a GPU; their common suite is
// shared_heads_test.cpp.
#include "kernels/split_case.hpp"
#include "support/needs_gpu.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <kernels/split_kv/merge.hpp>

using Catch::Matchers::Message;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::Partials;
using nanoserve::testing::DeviceBuffer;
using nanoserve::testing::DeviceCase;
using nanoserve::testing::DeviceResult;
using nanoserve::testing::kDay22;
using nanoserve::testing::needs_gpu;
using nanoserve::testing::PagedCase;
using nanoserve::testing::same_bits;
using nanoserve::testing::SplitCase;

namespace {

PagedCase long_case() {
    return PagedCase({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 128},
                      .block_size = 16,
                      .seq_lens = {700, 0, 40},
                      .dtype = DType::bf16,
                      .io_dtype = DType::bf16});
}

}  // namespace

TEST_CASE("one split has the bits of shared_heads_attention and needs no workspace",
          "[kernels][split]") {
    needs_gpu();
    PagedCase test = long_case();
    const PagedAttentionParams params = test.params();
    const DeviceResult expected = SplitCase(params, kDay22).run();
    REQUIRE(nanoserve::split_kv_workspace_bytes(params, 1) == 0);
    DeviceCase device(params);
    device.poison_outputs();
    nanoserve::split_kv_attention(device.params(), 1, nullptr, 0, nullptr, device.status());
    CHECK(same_bits(device.result(), expected));
}

TEST_CASE("two split reads on one stream may share a workspace", "[kernels][split]") {
    needs_gpu();
    PagedCase test = long_case();
    const PagedAttentionParams params = test.params();
    const DeviceResult expected = SplitCase(params, 6).run();
    const std::size_t bytes = nanoserve::split_kv_workspace_bytes(params, 6);
    const DeviceBuffer workspace(bytes);
    DeviceCase first(params), second(params);
    first.poison_outputs();
    second.poison_outputs();
    for (const DeviceCase* device : {&first, &second}) {
        nanoserve::split_kv_attention(device->params(), 6, workspace.data(), bytes, nullptr,
                                      device->status());
    }
    CHECK(same_bits(first.result(), expected));
    CHECK(same_bits(second.result(), expected));
}

TEST_CASE("the merge launch leaves out parts without tokens, whatever they hold",
          "[kernels][split]") {
    needs_gpu();
    PagedCase test(
        {.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 8}, .seq_lens = {1, 1}});
    DeviceCase device(test.params());
    const PagedAttentionParams params = device.params();
    constexpr int kSplits = 3;
    const std::size_t bytes = nanoserve::partials_bytes(params, kSplits);
    std::vector<float> parts(bytes / sizeof(float), NAN);
    const Partials host = nanoserve::partials_in(params, kSplits, parts.data(), bytes);
    for (int d = 0; d < 8; ++d) {
        host.store(0, 0, d, {3.0f, 2.0f, 8.0f});
        host.store(0, 1, d, {-INFINITY, NAN, NAN});
        host.store(0, 2, d, {2.0f, 4.0f, static_cast<float>(4 * d)});
        for (int split = 0; split < kSplits; ++split) {
            host.store(1, split, d, {-INFINITY, NAN, NAN});
        }
    }
    const DeviceBuffer workspace(parts);
    device.poison_outputs();
    nanoserve::launch_merge(
        params, nanoserve::partials_in(params, kSplits, workspace.data(), bytes), nullptr);
    const DeviceResult result = device.result();
    test.out() = result.out;
    const std::vector<float> out = test.out_floats();
    for (std::size_t d = 0; d < 8; ++d) {
        CHECK(out[d] == 2.0f + static_cast<float>(d) / 2.0f);  // (8 + 4 d / 2) / (2 + 4 / 2)
        CHECK(out[8 + d] == 0.0f);
    }
    CHECK(std::abs(result.lse[0] - 5.0f * 0.693147181f) <= 1e-6f);
    CHECK(result.lse[1] == -INFINITY);
}

TEST_CASE("split_kv_attention refuses splits and workspaces that won't do", "[kernels][split]") {
    needs_gpu();
    PagedCase test = long_case();
    const DeviceCase device(test.params());
    const PagedAttentionParams params = device.params();
    const std::size_t bytes = nanoserve::split_kv_workspace_bytes(params, 2);
    const DeviceBuffer workspace(bytes + 16);
    const auto refused = [&](int num_splits, std::byte* memory, std::size_t size,
                             const char* message) {
        CHECK_THROWS_MATCHES(
            nanoserve::split_kv_attention(params, num_splits, memory, size, nullptr),
            std::invalid_argument, Message(message));
    };
    refused(0, workspace.data(), bytes, "num_splits is 0; it must be 1 to 1024");
    refused(1025, workspace.data(), bytes, "num_splits is 1025; it must be 1 to 1024");
    refused(2, workspace.data(), bytes - 4, "workspace_bytes is 24956; 2 splits need 24960");
    refused(2, nullptr, bytes, "workspace is null");
    refused(2, workspace.data() + 4, bytes, "workspace must be a multiple of 16 bytes");
    CHECK_THROWS_AS(nanoserve::split_kv_workspace_bytes(params, 0), std::invalid_argument);
    PagedAttentionParams empty = params;
    empty.num_seqs = 0;
    CHECK_NOTHROW(nanoserve::split_kv_attention(empty, 2, nullptr, 0, nullptr));
}

TEST_CASE("the rule knows the device's multiprocessors", "[kernels][split]") {
    needs_gpu();
    PagedCase test = long_case();
    PagedAttentionParams params = test.params();
    params.max_blocks_per_seq = 1 << 20;
    int num_sms = 0;
    NANOSERVE_CUDA_TRY(cudaDeviceGetAttribute(&num_sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(nanoserve::choose_num_splits(params) == nanoserve::choose_num_splits(params, num_sms));
    CHECK(nanoserve::choose_num_splits(params) > 1);
}
