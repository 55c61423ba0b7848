// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Launches of paged_decode that start before a kernel has ended which writes what they read: the
// lengths, the tables or the queries.
#include "support/device_case.hpp"
#include "support/needs_gpu.hpp"
#include "support/paged_case.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <kernels/paged_decode.hpp>

#include <kernels/decode/ptx.cuh>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

// Lets the next kernel start at once, and writes long after that.
__global__ void copy_late(const unsigned* from, unsigned* to, int num_words) {
    ptx::let_next_launch_start();
    const long long begin = clock64();
    while (clock64() - begin < 40'000) {  // 20 us
    }
    for (int i = static_cast<int>(threadIdx.x); i < num_words; i += static_cast<int>(blockDim.x)) {
        to[i] = from[i];
    }
}

// Device memory that is stale, all 0xff, until a kernel copies the right contents there.
class Late {
  public:
    Late(const void* right, std::size_t num_bytes) : right_(num_bytes), late_(num_bytes) {
        NANOSERVE_CUDA_TRY(cudaMemcpy(right_.data(), right, num_bytes, cudaMemcpyDeviceToDevice));
        num_words_ = static_cast<int>(num_bytes / 4);
    }

    void make_stale() { late_.poison(); }
    void launch_copy() const {
        copy_late<<<1, 256>>>(right_.as<unsigned>(), late_.as<unsigned>(), num_words_);
        NANOSERVE_CUDA_TRY(cudaGetLastError());
    }
    [[nodiscard]] const void* data() const { return late_.data(); }

  private:
    DeviceBuffer right_, late_;
    int num_words_ = 0;
};

enum class Input { seq_lens, block_tables, q };

Late late_copy_of(Input input, const PagedAttentionParams& p) {
    const auto num_seqs = static_cast<std::size_t>(p.num_seqs);
    switch (input) {
        case Input::seq_lens:
            return {p.seq_lens, num_seqs * sizeof *p.seq_lens};
        case Input::block_tables:
            return {p.block_tables, num_seqs * static_cast<std::size_t>(p.max_blocks_per_seq) *
                                        sizeof *p.block_tables};
        default:
            return {p.q, num_seqs * static_cast<std::size_t>(p.num_q_heads) *
                             static_cast<std::size_t>(p.kv.layout.head_dim) * 2};
    }
}

PagedAttentionParams with_input(PagedAttentionParams p, Input input, const void* data) {
    if (input == Input::seq_lens) {
        p.seq_lens = static_cast<const std::int32_t*>(data);
    } else if (input == Input::block_tables) {
        p.block_tables = static_cast<const BlockId*>(data);
    } else {
        p.q = data;
    }
    return p;
}

// Whether a read that overlaps the kernel which writes its input has the bits of one that does not.
void require_no_stale_read(DeviceCase& device, const DecodePlan& plan, Input input) {
    const std::size_t num_bytes = paged_decode_workspace_bytes(device.params());
    const DeviceBuffer memory(num_bytes);
    NANOSERVE_CUDA_TRY(cudaMemset(memory.data(), 0, num_bytes));
    const Workspace workspace = {memory.data(), num_bytes};
    device.poison_outputs();
    paged_decode(device.params(), plan, nullptr, device.status(), workspace);
    const DeviceResult expected = device.result();

    Late late = late_copy_of(input, device.params());
    const PagedAttentionParams params = with_input(device.params(), input, late.data());
    for (int i = 0; i < 2; ++i) {
        late.make_stale();
        device.poison_outputs();
        NANOSERVE_CUDA_TRY(cudaDeviceSynchronize());
        late.launch_copy();
        paged_decode(params, plan, nullptr, device.status(), workspace,
                     LaunchOrder::overlapping_previous);
        const DeviceResult result = device.result();
        REQUIRE(result.status == expected.status);
        REQUIRE(same_bits(result, expected));
    }
}

// Every kernel, head_dim and size of a group has loads of its own, which a compiler may move.
void require_no_stale_read(std::int32_t head_dim, Input input) {
    needs_gpu();
    const std::int32_t group_size = GENERATE(1, 16);
    const bool is_fp8 = GENERATE(false, true);
    if (is_fp8 && (head_dim == 96 || head_dim == 192)) {
        return;
    }
    CaseSpec spec = {
        .shape = {.num_q_heads = 2 * group_size, .num_kv_heads = 2, .head_dim = head_dim},
        .block_size = 16,
        .seq_lens = {500, 1, 0, 333},
        .dtype = is_fp8 ? DType::fp8_e4m3 : DType::bf16,
        .io_dtype = DType::bf16};
    const auto check = [&](const DecodePlan& plan) {
        CAPTURE(head_dim, group_size, is_fp8, spec.block_size, spec.sinks, spec.sliding_window,
                plan.num_warps, plan.num_splits, plan.balance);
        PagedCase test(spec);
        DeviceCase device(test.params());
        require_no_stale_read(device, plan, input);
    };
    check({.num_warps = 8});
    check({.num_warps = 4, .heads_per_block = 2});
    check({.num_warps = 8, .num_splits = 8});
    check({.num_warps = 8, .evict_first = true, .balance = true});
    spec.sinks = true;
    check({.num_warps = 8});
    spec.sliding_window = 100;
    check({.num_warps = 8, .num_splits = 2});
    spec.sinks = false;
    spec.sliding_window = 0;
    spec.block_size = 4;
    check({.num_warps = 8});
    spec.block_size = 16;
    spec.seq_lens = {16, 1, 0, 7};
    spec.spare_entry = false;  // the kernel of one tile
    check({});
    check({.num_warps = 2, .heads_per_block = 2});
}

}  // namespace

// A test case each, since tools take minutes over one.
TEMPLATE_TEST_CASE_SIG("a launch that overlaps a kernel reads the lengths that it writes",
                       "[kernels][decode][overlap]", ((std::int32_t head_dim), head_dim), 64, 96,
                       128, 192, 256) {
    require_no_stale_read(head_dim, Input::seq_lens);
}

TEMPLATE_TEST_CASE_SIG("a launch that overlaps a kernel reads the tables that it writes",
                       "[kernels][decode][overlap]", ((std::int32_t head_dim), head_dim), 64, 96,
                       128, 192, 256) {
    require_no_stale_read(head_dim, Input::block_tables);
}

TEMPLATE_TEST_CASE_SIG("a launch that overlaps a kernel reads the queries that it writes",
                       "[kernels][decode][overlap]", ((std::int32_t head_dim), head_dim), 64, 96,
                       128, 192, 256) {
    require_no_stale_read(head_dim, Input::q);
}
