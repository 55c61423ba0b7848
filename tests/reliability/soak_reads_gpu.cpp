// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// soak_reads_gpu [--replays N] [--seed S] [--record FILE]: lengths and tables change under one
// captured graph. It reads the same inputs three times: by paged_attention, by paged_attention with
// a workspace that is zeroed once, and by general_attention. After each replay the three must agree
// as far as rounding explains; one in a hundred repeats an earlier replay and must give its bits.
// Memory must stay flat. Exit status: 0 no fault; 1 a fault; 4 there is no GPU.
#include "support/device_case.hpp"

#include <nanoserve/attention/instruction_set.hpp>
#include <nanoserve/model/require.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <CLI/CLI.hpp>
#include <gpu_bench/device_memory.hpp>
#include <gpu_bench/gpu_facts.hpp>
#include <kernels/clock_graph.hpp>
#include <kernels/decode/rounding_bounds.hpp>
#include <kernels/device.hpp>
#include <kernels/paged_attention.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <span>

using namespace nanoserve;
using nanoserve::testing::DeviceBuffer;

namespace {

constexpr std::int64_t kNumSeqs = 64;
constexpr std::int32_t kBlockSize = 16;
constexpr std::int64_t kMaxBlocksPerSeq = 1024;
constexpr auto kMaxTokens = static_cast<std::int32_t>(kMaxBlocksPerSeq * kBlockSize);
static_assert(kMaxTokens >= 16384, "with less room paged_attention makes no use of a workspace");
constexpr std::int32_t kNumBlocks = 2048;  // a block stands in many tables, and often in one
constexpr AttentionShape kShape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};
constexpr std::size_t kRowElements = std::size_t{kShape.num_q_heads} * kShape.head_dim;
constexpr std::size_t kOutElements = kNumSeqs * kRowElements;

constexpr std::array kReads = {"paged_attention", "paged_attention with a workspace",
                               "general_attention"};
constexpr std::size_t kGeneral = 2;

// Elements are uniform in [-limit, limit]. With these limits scores have a standard deviation of 3:
// of the longest history, too, a few tokens make up the output, which so stays as large as V.
constexpr float kLargestKV = 1.0f;
constexpr float kLargestQ = 9.0f;

std::vector<Bf16> random_elements(std::size_t count, float limit, std::mt19937& random) {
    std::uniform_real_distribution<float> element(-limit, limit);
    std::vector<Bf16> elements(count);
    std::ranges::generate(elements, [&] { return from_float<Bf16>(element(random)); });
    return elements;
}

PagedAttentionParams params_of(const AttentionShape& shape, std::int32_t num_blocks) {
    return {.io_dtype = DType::bf16,
            .num_q_heads = shape.num_q_heads,
            .kv = {.layout = nhd_layout({.dtype = DType::bf16,
                                         .num_blocks = num_blocks,
                                         .block_size = kBlockSize,
                                         .num_kv_heads = shape.num_kv_heads,
                                         .head_dim = shape.head_dim})},
            .max_blocks_per_seq = kMaxBlocksPerSeq};
}

// How far rounding can move an output of paged_attention from general_attention's: both from the
// oracle's. Every element here is the largest there can be, so no history of `seq_len` tokens or
// fewer has a larger bound.
double rounding_between(std::int32_t seq_len) {
    constexpr AttentionShape kOneHead = {
        .num_q_heads = 1, .num_kv_heads = 1, .head_dim = kShape.head_dim};
    const std::vector<Bf16> q(kOneHead.head_dim, from_float<Bf16>(kLargestQ));
    const std::vector<Bf16> block(std::size_t{kBlockSize} * kOneHead.head_dim,
                                  from_float<Bf16>(kLargestKV));
    std::vector<Bf16> out(q.size());
    const BlockTables tables = {.block_tables = std::vector<BlockId>(kMaxBlocksPerSeq, 0),
                                .seq_lens = {seq_len},
                                .max_blocks_per_seq = kMaxBlocksPerSeq};
    PagedAttentionParams params = params_of(kOneHead, 1);
    params.q = q.data();
    params.out = out.data();
    params.kv.k_cache = params.kv.v_cache = block.data();
    set_block_tables(params, tables);
    return paged_decode_rounding_bounds(params).out + paged_attention_rounding_bounds(params).out;
}

// rounding_between() of the next power of two; 0 of an empty history, whose output is exactly 0.
class Bounds {
  public:
    Bounds() {
        for (std::size_t i = 0; i < bounds_.size(); ++i) {
            bounds_[i] = rounding_between(1 << i);
        }
    }
    [[nodiscard]] double of(std::int32_t seq_len) const {
        const auto tokens = static_cast<unsigned>(seq_len);
        return tokens == 0 ? 0.0 : bounds_[static_cast<std::size_t>(std::bit_width(tokens - 1))];
    }

  private:
    std::array<double, std::bit_width(unsigned{kMaxTokens} - 1) + 1> bounds_{};
};

// Host memory that copies of a stream run from and to.
template <class T>
class Pinned {
  public:
    explicit Pinned(std::size_t count) : count_(count) {
        void* memory = nullptr;
        NANOSERVE_CUDA_TRY(cudaMallocHost(&memory, count * sizeof(T)));
        memory_.reset(static_cast<T*>(memory));
    }
    [[nodiscard]] std::span<T> elements() const { return {memory_.get(), count_}; }

  private:
    struct Free {
        void operator()(T* memory) const { (void)cudaFreeHost(memory); }
    };
    std::size_t count_;
    std::unique_ptr<T, Free> memory_;
};

// The three reads of one batch, captured once.
class Reads {
  public:
    Reads(const BlockTables& first, std::mt19937& random)
        : k_(random_elements(kPoolElements, kLargestKV, random)),
          v_(random_elements(kPoolElements, kLargestKV, random)),
          q_(random_elements(kOutElements, kLargestQ, random)),
          workspace_bytes_(paged_attention_workspace_bytes(params(0))),
          workspace_(std::vector<std::byte>(workspace_bytes_)),
          graph_(record(first)) {}

    // Replays the graph over a batch: [kReads, num_seqs, num_q_heads, head_dim], overwritten by the
    // next replay.
    std::span<const Bf16> operator()(const BlockTables& batch, bool has_new_tables) {
        upload(host_seq_lens_, batch.seq_lens, seq_lens_);
        if (has_new_tables) {
            upload(host_tables_, batch.block_tables, tables_);
        }
        graph_.launch();
        const auto out = host_out_.elements();
        NANOSERVE_CUDA_TRY(cudaMemcpyAsync(out.data(), out_.data(), out.size_bytes(),
                                           cudaMemcpyDeviceToHost, stream_.get()));
        stream_.synchronize();
        return out;
    }

    // Bits of ReadStatus that any read has set so far.
    [[nodiscard]] std::uint32_t status() const { return status_.to_host<std::uint32_t>()[0]; }

    // Whether a launch has ever been balanced.
    [[nodiscard]] bool used_workspace() const {
        return std::ranges::any_of(workspace_.to_host(),
                                   [](std::byte b) { return b != std::byte{}; });
    }

  private:
    static constexpr std::size_t kPoolElements =
        std::size_t{kNumBlocks} * kBlockSize * kShape.num_kv_heads * kShape.head_dim;

    [[nodiscard]] PagedAttentionParams params(std::size_t read) const {
        PagedAttentionParams params = params_of(kShape, kNumBlocks);
        params.q = q_.data();
        params.out = out_.as<Bf16>() + read * kOutElements;
        params.kv.k_cache = k_.data();
        params.kv.v_cache = v_.data();
        params.block_tables = tables_.as<BlockId>();
        params.seq_lens = seq_lens_.as<std::int32_t>();
        params.num_seqs = kNumSeqs;
        return params;
    }

    template <class T>
    void upload(const Pinned<T>& pinned, const std::vector<T>& from, const DeviceBuffer& to) const {
        const auto elements = pinned.elements();
        std::ranges::copy(from, elements.begin());
        NANOSERVE_CUDA_TRY(cudaMemcpyAsync(to.data(), elements.data(), elements.size_bytes(),
                                           cudaMemcpyHostToDevice, stream_.get()));
    }

    // Poisons the outputs with NaN, then reads.
    void launch() const {
        auto* status = status_.as<std::uint32_t>();
        NANOSERVE_CUDA_TRY(
            cudaMemsetAsync(out_.data(), 0xff, host_out_.elements().size_bytes(), stream_.get()));
        paged_attention(params(0), stream_.get(), status);
        paged_attention(params(1), stream_.get(), status, {workspace_.data(), workspace_bytes_});
        general_attention(params(kGeneral), stream_.get(), status);
    }

    // Launches once outside the graph, so that all code is loaded.
    GraphReplay record(const BlockTables& first) const {
        upload(host_seq_lens_, first.seq_lens, seq_lens_);
        upload(host_tables_, first.block_tables, tables_);
        launch();
        stream_.synchronize();
        return {stream_.get(), [this] { launch(); }};
    }

    gpu_bench::Stream stream_;
    Pinned<std::int32_t> host_seq_lens_{kNumSeqs};
    Pinned<BlockId> host_tables_{kNumSeqs * kMaxBlocksPerSeq};
    Pinned<Bf16> host_out_{kReads.size() * kOutElements};
    DeviceBuffer seq_lens_{kNumSeqs * sizeof(std::int32_t)};
    DeviceBuffer tables_{kNumSeqs * kMaxBlocksPerSeq * sizeof(BlockId)};
    DeviceBuffer out_{kReads.size() * kOutElements * sizeof(Bf16)};
    DeviceBuffer status_{std::vector<std::uint32_t>{0}};
    DeviceBuffer k_, v_, q_;
    std::size_t workspace_bytes_;
    DeviceBuffer workspace_;
    GraphReplay graph_;
};

struct Memory {
    std::int64_t free_on_device = 0, resident = 0;  // bytes

    static Memory now() {
        std::size_t free = 0, total = 0;
        NANOSERVE_CUDA_TRY(cudaMemGetInfo(&free, &total));
        std::int64_t size_pages = 0, resident_pages = 0;
        std::ifstream("/proc/self/statm") >> size_pages >> resident_pages;
        return {static_cast<std::int64_t>(free), resident_pages * sysconf(_SC_PAGESIZE)};
    }
};

// What the allocator and the driver may still take: all our own memory is there before the first
// replay. Outputs lost in every hundredth replay would be 75 MiB of 10^4 replays.
constexpr std::int64_t kGrowthAllowed = std::int64_t{8} << 20;

struct Counts {
    std::int64_t replays = 0, tables_changed = 0, rows_compared = 0, repeats_compared = 0;
    double largest_difference = 0.0;  // of two outputs, relative to the replay's largest
    double largest_share = 0.0;       // of what rounding explains
};

class Soak {
  public:
    Soak(std::int64_t num_replays, std::uint32_t seed)
        : num_replays_(num_replays), random_(seed), batch_(first_batch()), reads_(batch_, random_) {
        remembered_.fill({batch_, std::vector<Bf16>(kReads.size() * kOutElements)});
    }

    // Returns the first fault, or nothing.
    std::optional<std::string> run() {
        while (counts_.replays < num_replays_) {
            ++counts_.replays;
            if (const auto fault = step()) {
                return fault;
            }
            if (counts_.replays == std::max<std::int64_t>(1, num_replays_ / 100)) {
                early_ = Memory::now();
            }
        }
        late_ = Memory::now();
        return fault_at_the_end();
    }

    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] const Memory& early() const { return early_; }
    [[nodiscard]] const Memory& late() const { return late_; }

  private:
    struct Replay {
        BlockTables batch;
        std::vector<Bf16> outputs;
    };

    // ---- Batches

    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

    // One history that is shared by all SMs, among short ones.
    BlockTables first_batch() {
        BlockTables batch = {.block_tables = std::vector<BlockId>(kNumSeqs * kMaxBlocksPerSeq),
                             .seq_lens = std::vector<std::int32_t>(kNumSeqs, 1),
                             .max_blocks_per_seq = kMaxBlocksPerSeq};
        std::ranges::generate(batch.block_tables, [this] { return pick(kNumBlocks); });
        batch.seq_lens[0] = kMaxTokens;
        return batch;
    }

    std::int32_t pick_short() {
        switch (pick(4)) {
            case 0:
                return pick(2);
            case 1:
                return kBlockSize * (1 + pick(16)) + pick(3) - 1;  // the edges of a block
            default:
                return pick(400);
        }
    }

    void change_lengths() {
        std::vector<std::int32_t>& seq_lens = batch_.seq_lens;
        std::ranges::generate(seq_lens, [this] { return pick_short(); });
        const int kind = pick(100);
        if (kind < 2) {
            std::ranges::fill(seq_lens, kMaxTokens);
        } else if (kind < 3) {
            std::ranges::fill(seq_lens, 0);
        } else if (kind < 15) {
            for (int i = pick(4); i >= 0; --i) {
                seq_lens[static_cast<std::size_t>(pick(kNumSeqs))] = 1024 + pick(kMaxTokens - 1023);
            }
        }
    }

    void change_a_table() {
        std::generate_n(batch_.block_tables.begin() + pick(kNumSeqs) * kMaxBlocksPerSeq,
                        kMaxBlocksPerSeq, [this] { return pick(kNumBlocks); });
        ++counts_.tables_changed;
    }

    // ---- Replays

    // In every hundred the 50th is remembered, and the last repeats one of those.
    std::optional<std::string> step() {
        const std::int64_t in_hundred = counts_.replays % 100;
        try {
            return in_hundred == 0 ? repeat() : replay_a_new_batch(in_hundred == 50);
        } catch (const CudaError& error) {
            return error.what();
        }
    }

    std::optional<std::string> replay_a_new_batch(bool remember) {
        const bool has_new_tables = pick(10) == 0;
        if (has_new_tables) {
            change_a_table();
        }
        change_lengths();
        const std::span<const Bf16> outputs = reads_(batch_, has_new_tables);
        if (remember) {
            Replay& oldest = remembered_[num_remembered_++ % remembered_.size()];
            oldest.batch = batch_;
            std::ranges::copy(outputs, oldest.outputs.begin());
        }
        return look_at_rows(outputs);
    }

    std::optional<std::string> repeat() {
        const auto known = static_cast<int>(std::min(num_remembered_, remembered_.size()));
        const Replay& earlier = remembered_[static_cast<std::size_t>(pick(known))];
        batch_ = earlier.batch;
        ++counts_.tables_changed;
        const std::span<const Bf16> outputs = reads_(batch_, true);
        ++counts_.repeats_compared;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i].bits != earlier.outputs[i].bits) {
                return join_text(kReads[i / kOutElements], ": element ", i % kOutElements, " is ",
                                 to_float(outputs[i]), " and was ", to_float(earlier.outputs[i]),
                                 " when lengths and tables were the same");
            }
        }
        return look_at_rows(outputs);
    }

    // Each read beside general_attention, itself as well; an empty history beside 0. NaN is within
    // no bound.
    std::optional<std::string> look_at_rows(std::span<const Bf16> outputs) {
        double largest = 0.0, difference = 0.0;
        for (std::size_t at = 0; at < outputs.size(); at += kRowElements) {
            const std::size_t seq = at % kOutElements / kRowElements;
            const std::int32_t seq_len = batch_.seq_lens[seq];
            const double bound = bounds_.of(seq_len);
            const auto row = outputs.subspan(at, kRowElements);
            const auto general =
                outputs.subspan(kGeneral * kOutElements + seq * kRowElements, kRowElements);
            double of_row = 0.0;
            for (std::size_t i = 0; i < kRowElements; ++i) {
                const double expected = seq_len == 0 ? 0.0 : double{to_float(general[i])};
                const double here = std::abs(to_float(row[i]) - expected);
                if (!(here <= bound)) {
                    return join_text(kReads[at / kOutElements], ": sequence ", seq, " of ", seq_len,
                                     " tokens has ", to_float(row[i]), " as element ", i, ", not ",
                                     expected, "; rounding explains ", bound);
                }
                of_row = std::max(of_row, here);
                largest = std::max(largest, std::abs(expected));
            }
            difference = std::max(difference, of_row);
            if (seq_len > 0) {
                counts_.largest_share = std::max(counts_.largest_share, of_row / bound);
            }
        }
        if (largest > 0.0) {
            counts_.largest_difference = std::max(counts_.largest_difference, difference / largest);
        }
        counts_.rows_compared += kGeneral * kNumSeqs * kShape.num_q_heads;
        return {};
    }

    std::optional<std::string> fault_at_the_end() const {
        if (const std::uint32_t status = reads_.status(); status != 0) {
            return join_text("a read found what was not there: its status is ", status);
        }
        if (!reads_.used_workspace()) {
            return "no launch has made use of the workspace";
        }
        if (late_.free_on_device < early_.free_on_device) {
            return join_text("the device has ", early_.free_on_device - late_.free_on_device,
                             " free bytes less than after the first replays");
        }
        if (const std::int64_t growth = late_.resident - early_.resident; growth > kGrowthAllowed) {
            return join_text("memory grew by ", growth, " bytes; ", kGrowthAllowed,
                             " are explained");
        }
        return {};
    }

    std::int64_t num_replays_;
    std::mt19937 random_;
    BlockTables batch_;
    Reads reads_;
    Bounds bounds_;
    std::array<Replay, 8> remembered_;
    std::size_t num_remembered_ = 0;
    Counts counts_;
    Memory early_, late_;
};

void record(const std::string& path, const Soak& soak, std::uint32_t seed, double seconds) {
    const Counts& counts = soak.counts();
    const auto number = [](std::int64_t count) { return static_cast<double>(count); };
    report::write_sidecar(
        path, {.provenance = report::collect_provenance(to_string(default_instruction_set()),
                                                        gpu_bench::gpu_facts()),
               .options = {{"program", "soak_reads_gpu"},
                           {"seed", join_text(seed)},
                           {"num_seqs", join_text(kNumSeqs)},
                           {"shape", join_text(kShape.num_q_heads, '/', kShape.num_kv_heads, '/',
                                               kShape.head_dim)},
                           {"dtype", join_text(to_string(DType::bf16))},
                           {"block_size", join_text(kBlockSize)},
                           {"max_tokens", join_text(kMaxTokens)},
                           {"num_blocks", join_text(kNumBlocks)}},
               .fitted = {{"replays", number(counts.replays)},
                          {"lengths_changed", number(counts.replays)},
                          {"tables_changed", number(counts.tables_changed)},
                          {"rows_compared", number(counts.rows_compared)},
                          {"repeats_compared", number(counts.repeats_compared)},
                          {"largest_relative_difference", counts.largest_difference},
                          {"largest_share_of_rounding_bound", counts.largest_share},
                          {"seconds", seconds},
                          {"device_free_bytes_early", number(soak.early().free_on_device)},
                          {"device_free_bytes_late", number(soak.late().free_on_device)},
                          {"resident_bytes_early", number(soak.early().resident)},
                          {"resident_bytes_late", number(soak.late().resident)}},
               .samples = {}});
}

}  // namespace

int main(int argc, char** argv) {
    std::int64_t num_replays = 10'000;
    std::uint32_t seed = 1;
    std::string path;
    CLI::App app("Lengths and tables change under one captured graph of reads.");
    app.add_option("--replays", num_replays, "of the graph")->check(CLI::PositiveNumber);
    app.add_option("--seed", seed, "of values, lengths and tables");
    app.add_option("--record", path, "a JSON file for the figures");
    CLI11_PARSE(app, argc, argv);
    if (const auto reason = reason_for_no_device()) {
        std::cout << *reason << '\n';
        return 4;
    }
    const auto start = std::chrono::steady_clock::now();
    Soak soak(num_replays, seed);
    if (const auto fault = soak.run()) {
        std::cout << "seed " << seed << ", replay " << soak.counts().replays << ": " << *fault
                  << '\n';
        return 1;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (!path.empty()) {
        record(path, soak, seed, seconds.count());
    }
    const Counts& counts = soak.counts();
    std::cout << "soak_reads_gpu: " << counts.replays << " replays from seed " << seed << ", "
              << counts.tables_changed << " with new tables, " << counts.rows_compared
              << " rows compared, at most " << counts.largest_difference
              << " of the largest apart, " << counts.repeats_compared
              << " repeats of the same bits, free on the device "
              << (soak.early().free_on_device >> 20) << " then "
              << (soak.late().free_on_device >> 20) << " MiB, resident "
              << (soak.early().resident >> 20) << " then " << (soak.late().resident >> 20)
              << " MiB, no fault\n";
}
