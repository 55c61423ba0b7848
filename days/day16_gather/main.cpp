// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 16: rebuild the contiguous history through the block table, then attend as usual.
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/sdpa.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/time_read.hpp>
#include <nanoserve/report/block_picture.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/program_end.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>

#include <cstring>
#include <exception>
#include <limits>
#include <vector>

using namespace nanoserve;

namespace {

constexpr const char* kProgram = "day16";

int show() {
    // A cache small enough to look at: two sequences of 10 tokens, in blocks of 4.
    constexpr AttentionShape kShape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 16};
    constexpr std::int64_t kNumTokens = 10;
    const SyntheticHistory history({.shape = kShape,
                                    .seq_len = kNumTokens,
                                    .block_size = 4,
                                    .num_histories = 2,
                                    .spare_tokens = 8});

    fmt::print("Where the tokens of two sequences lie in the pool\n\n{}\n",
               report::block_picture(history.cache(), history.seqs()));
    fmt::print(
        "q              [{}, {}]            one query, head_dim {} in each of {} heads\n"
        "k_cache        [{}, {}, {}, {}]      blocks, tokens in a block, kv heads, head_dim; "
        "v_cache alike\n"
        "gathered k, v  [{}, {}, {}]        the {} blocks of A in logical order, {} slots unused "
        "and masked\n\n",
        kShape.num_q_heads, kShape.head_dim, kShape.head_dim, kShape.num_q_heads,
        history.cache().layout().num_blocks, history.cache().layout().block_size,
        kShape.num_kv_heads, kShape.head_dim, 12, kShape.num_kv_heads, kShape.head_dim,
        blocks_needed(kNumTokens, 4), 12 - kNumTokens);

    //! [read]
    // The read: gather sequence A through its table, then masked scaled dot-product attention.
    std::vector<float> gathered(4 * 16, std::numeric_limits<float>::quiet_NaN());
    PagedAttentionParams params = history.params();
    params.out = gathered.data();
    gather_read(params);
    //! [read]

    //! [proof]
    // The proof: the same keys and values, never paged.
    std::vector<float> never_paged(gathered.size(), std::numeric_limits<float>::quiet_NaN());
    sdpa({.q = params.q,
          .out = never_paged.data(),
          .num_queries = 1,
          .k = history.rows().k,
          .v = history.rows().v,
          .num_tokens = kNumTokens,
          .shape = kShape});
    const bool equal =
        std::memcmp(gathered.data(), never_paged.data(), gathered.size() * sizeof(float)) == 0;
    //! [proof]
    fmt::print(
        "attention over the gathered history == attention over a cache that was never paged: {}\n",
        equal ? "yes, bit for bit" : "NO");

    // The cost: the copy reads every block and writes it again before attention reads the copy.
    SteadyClock clock;
    const ReadTiming timing = time_read(clock, [&] { gather_read(params); });
    const std::int64_t copied = kShape.kv_bytes(12, DType::fp32);
    fmt::print(
        "bytes: copy {} out of the pool and {} into the history, attend over {}; a read in place "
        "needs {}\n",
        copied, copied, kShape.kv_bytes(kNumTokens, DType::fp32),
        kShape.kv_bytes(kNumTokens, DType::fp32));
    fmt::print("time of one read: best {}, median {} of {} samples\n",
               report::duration_text(timing.best_ns().value_or(0.0) / 1e3),
               report::duration_text(timing.median_ns().value_or(0.0) / 1e3),
               timing.samples_ns().size());
    return equal ? 0 : 1;
}

int run(int argc, char** argv) {
    CLI::App app{
        "Day 16: rebuilds the contiguous history through the block table and attends as usual. "
        "Shows where the\n"
        "tokens lie, proves the read against a cache that was never paged, and says what the copy "
        "costs.",
        kProgram};
    app.footer(
        "Exit status: 0 fine; 1 the proof failed; 2 wrong usage; 3 standard output not written.");
    return days::parse_or_help(app, argc, argv) ? show() : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return report::end_program(kProgram, run(argc, argv));
    } catch (const CLI::ParseError& error) {
        return report::fail_program(kProgram, 2, error);
    } catch (const std::exception& error) {
        return report::fail_program(kProgram, 1, error);
    }
}
