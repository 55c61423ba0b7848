// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "reliability/read_case.hpp"

#include <nanoserve/attention/detail/element_at.hpp>
#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>

namespace nanoserve::testing {
namespace {

class Draw {
  public:
    explicit Draw(std::uint32_t seed) : random_(seed) {}

    int between(int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random_);
    }
    bool one_in(int n) { return between(1, n) == 1; }
    template <class T>
    T of(const std::vector<T>& choices) {
        return choices[static_cast<std::size_t>(between(0, static_cast<int>(choices.size()) - 1))];
    }

  private:
    std::mt19937 random_;
};

std::int32_t draw_length(Draw& draw, std::int32_t block_size) {
    if (draw.one_in(40)) {
        return draw.between(500, 2000);
    }
    const std::int32_t edge = block_size * draw.between(1, 5);
    return draw.of<std::int32_t>({0, 1, edge - 1, edge, edge + 1, draw.between(0, 150)});
}

CaseSpec draw_spec(Draw& draw, std::uint32_t seed) {
    const std::vector io_dtypes = {DType::fp32, DType::fp16, DType::bf16};
    CaseSpec spec;
    spec.seed = seed;
    spec.seq_lens = {};
    spec.shape.num_kv_heads = draw.between(1, 4);
    spec.shape.num_q_heads =
        spec.shape.num_kv_heads * (draw.one_in(4) ? draw.between(7, 16) : draw.between(1, 6));
    spec.shape.head_dim = draw.of<std::int32_t>(
        {8 * draw.between(1, 12), draw.between(1, 40), 64, 128, draw.between(1, 256)});
    spec.block_size = draw.of<std::int32_t>({1, 2, 3, 8, 16, 32, draw.between(1, 70)});
    for (int i = draw.between(1, 4); i > 0; --i) {
        spec.seq_lens.push_back(draw_length(draw, spec.block_size));
    }
    spec.dtype = draw.of<DType>({DType::fp32, DType::fp16, DType::bf16, DType::fp8_e4m3});
    const bool is_fp8 = spec.dtype == DType::fp8_e4m3;
    spec.scaled = is_fp8 && draw.one_in(2);
    spec.io_dtype = !is_fp8 && draw.one_in(2) ? spec.dtype : draw.of(io_dtypes);
    spec.order = draw.of<PoolOrder>({PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved});
    spec.q_scale = draw.of<float>({0.0f, 0x1p-10f, 1.0f, 1.0f, 40.0f});
    spec.k_scale = draw.of<float>({0x1p-8f, 1.0f, 1.0f, 30.0f});
    spec.v_scale = draw.of<float>({0x1p-8f, 1.0f, 1.0f, 1000.0f});
    spec.row_padding = draw.one_in(3) ? draw.between(1, 9) : 0;
    spec.q_padding = draw.one_in(3) ? draw.between(1, 70) : 0;
    if (draw.one_in(3)) {
        spec.sliding_window = draw.of<std::int64_t>({0, 1, spec.block_size, draw.between(1, 60)});
        spec.logits_soft_cap = draw.of<float>({0.0f, 0.0f, 0.5f, 30.0f});
        spec.alibi = draw.one_in(3);
        spec.sinks = draw.one_in(2);
    }
    return spec;
}

// The used entries of all tables and how many written tokens each block has, from its first on.
struct UsedEntries {
    std::vector<std::size_t> places;                    // in block_tables
    std::map<BlockId, std::int64_t> tokens_of_block;    // of the sequence that owns it
    std::map<std::size_t, std::int64_t> tokens_needed;  // of the block at a place
};

UsedEntries used_entries(const BlockTables& tables, std::int32_t block_size,
                         const ScoreRules& rules) {
    UsedEntries used;
    for (std::int64_t seq = 0; seq < tables.num_seqs(); ++seq) {
        const std::int64_t len = tables.seq_lens[static_cast<std::size_t>(seq)];
        const std::int64_t first = rules.first_token(len);
        for (std::int64_t i = first / block_size; i * block_size < len; ++i) {
            const auto place = static_cast<std::size_t>(seq * tables.max_blocks_per_seq + i);
            const std::int64_t tokens = std::min<std::int64_t>(block_size, len - i * block_size);
            used.places.push_back(place);
            used.tokens_of_block[tables.block_tables[place]] = first > i * block_size ? 0 : tokens;
            used.tokens_needed[place] = tokens;
        }
    }
    return used;
}

// Some entries name the block of another entry, of the same sequence or of another, that holds at
// least as many tokens.
void share_blocks(Draw& draw, BlockTables& tables, std::int32_t block_size,
                  const ScoreRules& rules) {
    const UsedEntries used = used_entries(tables, block_size, rules);
    const BlockTables before = tables;
    for (const std::size_t place : used.places) {
        const BlockId other = before.block_tables[draw.of(used.places)];
        if (draw.one_in(5) && used.tokens_of_block.at(other) >= used.tokens_needed.at(place)) {
            tables.block_tables[place] = other;
        }
    }
}

// What a path wrote.
struct Result {
    std::vector<std::byte> out;
    std::vector<float> lse;

    [[nodiscard]] bool same_bits(const Result& other) const {
        return out == other.out && lse.size() == other.lse.size() &&
               std::memcmp(lse.data(), other.lse.data(), lse.size() * sizeof(float)) == 0;
    }
};

// One element for each query head and place: the range of the values that it averages, and 0 where
// a sink may take all weight.
struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
};

std::vector<Range> ranges_of_values(const PagedAttentionParams& p) {
    std::vector<Range> ranges;
    for (std::int64_t seq = 0; seq < p.num_seqs; ++seq) {
        for (std::int64_t head = 0; head < p.num_q_heads; ++head) {
            for (std::int64_t d = 0; d < p.kv.layout.head_dim; ++d) {
                Range& range = ranges.emplace_back();
                for (std::int64_t t = p.rules.first_token(p.seq_lens[seq]); t < p.seq_lens[seq];
                     ++t) {
                    const double v = detail::v_element(p, seq, t, head / p.shape().group_size(), d);
                    range.low = std::min(range.low, v);
                    range.high = std::max(range.high, v);
                }
                if (p.seq_lens[seq] == 0 || p.rules.sinks != nullptr) {
                    range = {std::min(range.low, 0.0), std::max(range.high, 0.0)};
                }
            }
        }
    }
    return ranges;
}

// With all scores 0 the bound holds what sums and the storing of the output add. A maximum that
// moves rounds both sums once more, at most once for each token.
double slack_of_range(const ReadPath& path, PagedAttentionParams p,
                      const std::vector<Range>& ranges) {
    p.sm_scale = 0.0f;
    const std::int32_t longest = *std::max_element(p.seq_lens, p.seq_lens + p.num_seqs);
    double largest = 0.0;
    for (const Range& range : ranges) {
        largest = std::max({largest, std::abs(range.low), std::abs(range.high)});
    }
    return path.bounds(p).out + 2.0 * longest * 0x1p-24 * largest;
}

// What a case should have given.
struct Expected {
    OracleResult oracle;
    std::vector<Range> ranges;
};

std::optional<std::string> fault_of_range(const ReadPath& path, const PagedAttentionParams& p,
                                          const std::vector<Range>& ranges) {
    std::optional<double> slack;  // costs as much as a read, and most outputs need none
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto [low, high] = ranges[i];
        const double x = detail::element_at(p.out, p.io_dtype, static_cast<std::int64_t>(i));
        if (x >= low && x <= high) {
            continue;
        }
        slack = slack ? slack : slack_of_range(path, p, ranges);
        if (!(x >= low - *slack && x <= high + *slack)) {
            return join_text("out[", i, "] is ", x, ", its values lie in [", low, ", ", high,
                             "], rounding of sums explains ", *slack);
        }
    }
    return {};
}

std::optional<std::string> fault_of_numbers(const ReadPath& path, const PagedAttentionParams& p,
                                            const Expected& expected) {
    const RoundingBounds bounds = path.bounds(p);
    const OracleResult& oracle = expected.oracle;
    for (std::size_t i = 0; i < oracle.out.size(); ++i) {
        const double x = detail::element_at(p.out, p.io_dtype, static_cast<std::int64_t>(i));
        if (!(std::abs(x - oracle.out[i]) <= bounds.out)) {
            return join_text("out[", i, "] is ", x, ", the oracle has ", oracle.out[i],
                             ", rounding explains ", bounds.out);
        }
    }
    for (std::size_t i = 0; i < oracle.lse.size(); ++i) {
        const bool right = std::isinf(oracle.lse[i])
                               ? double{p.lse[i]} == oracle.lse[i]
                               : std::abs(double{p.lse[i]} - oracle.lse[i]) <= bounds.lse;
        if (!right) {
            return join_text("lse[", i, "] is ", p.lse[i], ", the oracle has ", oracle.lse[i],
                             ", rounding explains ", bounds.lse);
        }
    }
    return path.keeps_the_range_of_values ? fault_of_range(path, p, expected.ranges) : std::nullopt;
}

std::optional<std::string> fault_of_refusal(const ReadPath& path, ReadCase& test,
                                            const std::string& reason) {
    const PagedAttentionParams params = test.params();
    const std::vector<std::byte> poison = test.data.out();
    try {
        path.read(params);
    } catch (const std::invalid_argument& error) {
        const bool untouched = test.data.out() == poison;
        return error.what() == reason && untouched
                   ? std::nullopt
                   : std::optional(join_text("it refuses with \"", error.what(), "\" for \"",
                                             reason, "\"", untouched ? "" : " and writes"));
    }
    return "it takes what it should refuse: " + reason;
}

std::optional<std::string> fault_of_path(const ReadPath& path, ReadCase& test,
                                         const Expected& expected,
                                         std::map<std::string, Result>& results) {
    if (const auto reason = path.reason_to_refuse(test.params())) {
        return fault_of_refusal(path, test, *reason);
    }
    const PagedAttentionParams params = test.params();
    if (const std::uint32_t status = path.read(params); status != 0) {
        return join_text("the status word is ", status);
    }
    if (!path.same_bits.empty()) {
        const Result result = {test.data.out(), test.data.lse()};
        const auto [first, inserted] = results.emplace(path.same_bits, result);
        if (!inserted) {  // the numbers of the first have been looked at
            return first->second.same_bits(result)
                       ? std::nullopt
                       : std::optional("its bits are not those of the other paths called \"" +
                                       path.same_bits + "\"");
        }
    }
    return fault_of_numbers(path, params, expected);
}

}  // namespace

PagedAttentionParams ReadCase::params() {
    PagedAttentionParams params = data.params();
    params.sm_scale = sm_scale;
    return params;
}

std::string ReadCase::describe() const {
    std::string text = data.describe();
    return sm_scale ? join_text(text, ", sm_scale ", *sm_scale) : text;
}

ReadCase random_read_case(std::uint32_t seed) {
    Draw draw(seed);
    ReadCase test = {.data = PagedCase(draw_spec(draw, seed)), .sm_scale = {}};
    share_blocks(draw, test.data.tables(), test.data.spec().block_size, test.data.params().rules);
    test.sm_scale = draw.of<std::optional<float>>({{}, {}, 0.0f, 1.0f, -0.5f});
    return test;
}

std::optional<std::string> fault_of_read_case(std::uint32_t seed,
                                              const std::vector<ReadPath>& paths) {
    ReadCase test = random_read_case(seed);
    const Expected expected = {.oracle = attention_oracle(test.params()),
                               .ranges = ranges_of_values(test.params())};
    std::map<std::string, Result> results;
    for (const ReadPath& path : paths) {
        if (const auto fault = fault_of_path(path, test, expected, results)) {
            return join_text("seed ", seed, ", ", path.name, ": ", *fault, " (", test.describe(),
                             ")");
        }
    }
    return {};
}

}  // namespace nanoserve::testing
