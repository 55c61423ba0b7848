// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Day 19: attend over the scattered blocks in place: the oracle of every later read.
#include <nanoserve/attention/attention_oracle.hpp>
#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/attention/rounding_bound.hpp>
#include <nanoserve/attention/synthetic_history.hpp>
#include <nanoserve/bench/clock.hpp>
#include <nanoserve/bench/compare_reads.hpp>
#include <nanoserve/report/block_picture.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/program_end.hpp>

#include <command_line/parse.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <vector>

using namespace nanoserve;

namespace {

constexpr const char* kProgram = "day19";

std::string best_text(const ReadTiming& timing) {
    return report::duration_text(timing.best_ns().value_or(0.0) / 1e3);
}

double largest_difference(const std::vector<float>& out, const std::vector<double>& oracle) {
    double largest = 0.0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double difference = std::abs(double{out[i]} - oracle[i]);
        largest = difference <= largest ? largest : difference;  // NaN is kept
    }
    return largest;
}

int show() {
    // Yesterday's cache: sequence A has 10 tokens in 3 blocks of 4, anywhere in the pool.
    constexpr AttentionShape kShape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 16};
    const SyntheticHistory history(
        {.shape = kShape, .seq_len = 10, .block_size = 4, .num_histories = 2, .spare_tokens = 8});
    fmt::print(
        "The read walks the table of A: for each block, all heads, where the rows lie\n\n{}\n",
        report::block_picture(history.cache(), history.seqs()));
    fmt::print("q [{}, {}], pools [{}, 4, {}, {}], scores [{}, 10], out [{}, {}]\n\n",
               kShape.num_q_heads, kShape.head_dim, history.cache().layout().num_blocks,
               kShape.num_kv_heads, kShape.head_dim, kShape.num_q_heads, kShape.num_q_heads,
               kShape.head_dim);

    //! [reads]
    // Both reads, into outputs that hold NaN before.
    std::vector<float> gathered(4 * 16, std::numeric_limits<float>::quiet_NaN());
    std::vector<float> fused = gathered;
    PagedAttentionParams gather_params = history.params();
    gather_params.out = gathered.data();
    PagedAttentionParams fused_params = history.params();
    fused_params.out = fused.data();
    gather_read(gather_params);
    paged_attention_reference(fused_params);
    //! [reads]

    //! [proof]
    // The proof: Day 16's bits, and the numbers of an oracle in double precision within what
    // rounding explains.
    const bool equal =
        std::memcmp(gathered.data(), fused.data(), fused.size() * sizeof(float)) == 0;
    const double error = largest_difference(fused, attention_oracle(fused_params).out);
    const double bound = rounding_bound(fused_params);
    //! [proof]
    fmt::print("fused == gathered: {}\n", equal ? "yes, bit for bit" : "NO");
    fmt::print("|fused - float64 oracle| is at most {:.2g}; rounding explains {:.2g}\n", error,
               bound);

    // The cost: every byte of the history is loaded once, nothing is copied.
    SteadyClock clock;
    //! [compare]
    const ReadComparison comparison = compare_reads(
        clock, [&] { gather_read(gather_params); },
        [&] { paged_attention_reference(fused_params); });
    //! [compare]
    fmt::print("bytes: {} of K and V loaded in place, none copied\n",
               kShape.kv_bytes(10, DType::fp32));
    fmt::print("time of one read: gather {}, fused {} (best of {}): {}\n",
               best_text(comparison.baseline), best_text(comparison.candidate),
               comparison.candidate.samples_ns().size(), describe(comparison));
    return equal && error <= bound ? 0 : 1;
}

int run(int argc, char** argv) {
    CLI::App app{
        "Day 19: attends over the scattered blocks in place. Proves the read against Day 16's bits "
        "and a float64\n"
        "oracle, and says what it loads and how long it takes.",
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
