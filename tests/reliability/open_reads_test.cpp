// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// Faults of other libraries that were published, as probes of ours: each test is named after its
// case in docs/reliability.md and runs over every path of its program. A path that refuses a size
// must say why and leave the output alone; that is checked as well.
#include "reliability/read_path.hpp"
#include "support/paged_case.hpp"

#include <nanoserve/model/require.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <kernels/general/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

using Catch::Matchers::Message;
using Catch::Matchers::WithinAbs;
using nanoserve::BlockId;
using nanoserve::DType;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::CaseSpec;
using nanoserve::testing::PagedCase;
using nanoserve::testing::PoolOrder;
using nanoserve::testing::read_paths;
using nanoserve::testing::ReadPath;

namespace {

// The paths, or the end of the test where none can run.
std::vector<ReadPath> paths() {
    if (const auto reason = nanoserve::testing::reason_for_no_paths()) {
        SKIP(*reason);
    }
    return read_paths();
}

struct Result {
    std::vector<std::byte> bits;
    std::vector<float> out;
    std::vector<float> lse;
    std::uint32_t status = 0;

    [[nodiscard]] bool same_bits(const Result& other) const {
        return bits == other.bits && lse.size() == other.lse.size() &&
               std::memcmp(lse.data(), other.lse.data(), lse.size() * sizeof(float)) == 0;
    }
};

// What the path makes of the parameters, which belong to `test`; nothing when it refuses them,
// which it then has to do properly.
std::optional<Result> read(const ReadPath& path, PagedCase& test,
                           const PagedAttentionParams& params) {
    if (const auto reason = path.reason_to_refuse(params)) {
        const auto untouched = test.out();
        CHECK_THROWS_MATCHES(path.read(params), std::invalid_argument, Message(*reason));
        CHECK(test.out() == untouched);
        return {};
    }
    const std::uint32_t status = path.read(params);
    return Result{test.out(), test.out_floats(), test.lse(), status};
}

std::optional<Result> read(const ReadPath& path, PagedCase& test) {
    return read(path, test, test.params());
}

// The types of a pool and of q and out.
struct Types {
    DType pool, io;
};

const Types kFp8 = {DType::fp8_e4m3, DType::bf16};
const std::vector<Types> kTypes = {{DType::fp32, DType::fp32},     {DType::fp16, DType::fp16},
                                   {DType::bf16, DType::bf16},     {DType::fp8_e4m3, DType::fp32},
                                   {DType::fp8_e4m3, DType::fp16}, {DType::fp8_e4m3, DType::bf16}};

// 1e-5 for a path that divides the weights before it sums, and one step of a 16-bit output.
double tolerance(double value, DType io_dtype) {
    const double step = io_dtype == DType::bf16 ? 0x1p-7 : io_dtype == DType::fp16 ? 0x1p-10 : 0.0;
    return (1e-5 + step) * std::abs(value);
}

void check_all(const Result& result, double value, DType io_dtype) {
    for (const float x : result.out) {
        if (!(std::abs(x - value) <= tolerance(value, io_dtype))) {
            CHECK_THAT(x, WithinAbs(value, tolerance(value, io_dtype)));
            return;
        }
    }
    SUCCEED();
}

// That the first elements of two results lie no further apart.
void require_close(const Result& a, const Result& b, std::size_t num_elements, double distance) {
    for (std::size_t i = 0; i < num_elements; ++i) {
        if (!(std::abs(a.out[i] - b.out[i]) <= distance)) {
            REQUIRE_THAT(a.out[i], WithinAbs(b.out[i], distance));
        }
    }
}

// One head and a block size: the rows of one sequence can be set by token.
CaseSpec one_head(std::int32_t head_dim, std::int32_t block_size, std::int32_t seq_len,
                  Types types = {DType::fp32, DType::fp32}) {
    return {.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = head_dim},
            .block_size = block_size,
            .seq_lens = {seq_len},
            .dtype = types.pool,
            .io_dtype = types.io};
}

void set_token(PagedCase& test, std::int32_t token, float k, float v) {
    const std::int32_t block_size = test.spec().block_size;
    const BlockId block = test.tables().block_tables[static_cast<std::size_t>(token / block_size)];
    test.set_row(true, block, token % block_size, 0, k);
    test.set_row(false, block, token % block_size, 0, v);
}

// Query 0 and K 0: attention is uniform, the output the mean of V, which is returned.
template <class Value>
double set_uniform(PagedCase& test, Value value) {
    test.set_q(0.0f);
    const std::int32_t seq_len = test.tables().seq_lens[0];
    double sum = 0.0;
    for (std::int32_t t = 0; t < seq_len; ++t) {
        set_token(test, t, 0.0f, value(t));
        sum += value(t);
    }
    return sum / seq_len;
}

// A value that every type of a pool holds exactly.
float small_value(std::int32_t token) {
    return static_cast<float>(token % 16);
}

// The paths for large reads: none that is slow, none that gives the same bits as one before it.
std::vector<ReadPath> quick_paths(std::vector<ReadPath> all) {
    std::set<std::string> seen;
    std::erase_if(all, [&](const ReadPath& path) {
        return path.is_slow || (!path.same_bits.empty() && !seen.insert(path.same_bits).second);
    });
    return all;
}

// out and lse are NaN for the query heads that read KV head `kv_head`, and for no other.
void check_nan_where_read(const Result& result, const CaseSpec& spec, std::int32_t kv_head) {
    const std::int32_t group_size = spec.shape.num_q_heads / spec.shape.num_kv_heads;
    const auto reads_it = [&](std::size_t head) {
        return static_cast<std::int32_t>(head) / group_size == kv_head;
    };
    std::size_t num_wrong = 0;
    for (std::size_t head = 0; head < result.lse.size(); ++head) {
        num_wrong += std::isnan(result.lse[head]) != reads_it(head);
    }
    for (std::size_t i = 0; i < result.out.size(); ++i) {
        num_wrong += std::isnan(result.out[i]) !=
                     reads_it(i / static_cast<std::size_t>(spec.shape.head_dim));
    }
    CHECK(num_wrong == 0);
}

}  // namespace

TEST_CASE("OPEN-01: NaN in slots and blocks that no sequence owns reaches no output",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t head_dim = GENERATE(64, 96, 128);
    const std::int32_t block_size = GENERATE(1, 7, 16, 64);
    const std::int32_t seq_len = GENERATE(1, 15, 16, 17, 31, 32, 33, 65);
    PagedCase test(one_head(head_dim, block_size, seq_len, types));
    const double mean = set_uniform(test, small_value);
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, mean, types.io);
            CHECK_THAT(result->lse[0], WithinAbs(std::log(seq_len), 1e-5));
        }
    }
}

TEST_CASE("OPEN-01: NaN in a token that is read is told, and only to the heads that read it",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t num_q_heads = GENERATE(2, 16);
    const std::int32_t seq_len = GENERATE(1, 17, 97, 600);
    const bool is_last = GENERATE(true, false);  // the newest token alone, or all but that one
    CAPTURE(types.pool, types.io, num_q_heads, seq_len, is_last);
    if (seq_len == 1 && !is_last) {
        return;
    }
    const CaseSpec spec = {.shape = {.num_q_heads = num_q_heads, .num_kv_heads = 2, .head_dim = 64},
                           .block_size = 16,
                           .seq_lens = {seq_len},
                           .dtype = types.pool,
                           .io_dtype = types.io};
    PagedCase test(spec);
    for (std::int32_t token = is_last ? seq_len - 1 : 0; token < seq_len - (is_last ? 0 : 1);
         ++token) {
        const auto block = test.tables().block_tables[static_cast<std::size_t>(token / 16)];
        test.set_row(true, block, token % 16, 1, std::numeric_limits<float>::quiet_NaN());
    }
    for (const ReadPath& path : paths()) {
        CAPTURE(path);
        if (const auto result = read(path, test)) {
            check_nan_where_read(*result, spec, 1);
        }
    }
    test.set_q(std::numeric_limits<float>::quiet_NaN());
    for (const ReadPath& path : paths()) {
        CAPTURE(path);
        if (const auto result = read(path, test)) {
            CHECK(std::isnan(result->lse[0]));
            CHECK(std::isnan(result->out[0]));
        }
    }
}

TEST_CASE("OPEN-02: a sequence without tokens gives 0 and lse -inf, beside others or alone",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::vector<std::int32_t> seq_lens =
        GENERATE(std::vector{0}, std::vector{0, 3, 0}, std::vector{40, 0}, std::vector{0, 0, 0});
    PagedCase test({.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = seq_lens,
                    .dtype = types.pool,
                    .io_dtype = types.io});
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        const auto result = read(path, test);
        for (std::size_t i = 0; result && i < result->out.size(); ++i) {
            const bool empty = seq_lens[i / (4 * 64)] == 0;
            REQUIRE(std::isfinite(result->out[i]));
            REQUIRE((result->out[i] == 0.0f || !empty));
            REQUIRE((result->lse[i / 64] == -INFINITY) == empty);
        }
    }
}

TEST_CASE("OPEN-03: scores beyond the range of fp16 give the right token and lse",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t head_dim = GENERATE(16, 64, 128);
    const std::int32_t block_size = GENERATE(1, 2, 16);
    const bool flipped = GENERATE(false, true);  // the largest score last
    PagedCase test(one_head(head_dim, block_size, 3, types));
    test.set_q(200.0f);
    const bool is_fp8 = types.pool == DType::fp8_e4m3;  // which holds every eighth from 64 on
    const float largest_key = is_fp8 ? 96.0f : 100.0f;
    const float keys[] = {largest_key, largest_key - (is_fp8 ? 8.0f : 1.0f), -largest_key};
    for (std::int32_t t = 0; t < 3; ++t) {
        set_token(test, flipped ? 2 - t : t, keys[t], static_cast<float>(t + 1));
    }
    const double largest = 200.0 * largest_key * std::sqrt(head_dim);
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, 1.0, types.io);
            CHECK_THAT(result->lse[0], WithinAbs(largest, 0.02 * largest / 80000.0));
        }
    }
}

TEST_CASE("OPEN-03: equal values come out equal when equal scores are as large", "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t seq_len = GENERATE(2, 33, 300);
    PagedCase test(one_head(64, 16, seq_len, types));
    test.set_q(200.0f);
    for (std::int32_t t = 0; t < seq_len; ++t) {
        set_token(test, t, 100.0f, 1.5f);
    }
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, 1.5, types.io);
        }
    }
}

TEST_CASE("OPEN-03: no sum is kept in a 16-bit type", "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    PagedCase test(one_head(64, 16, 4096, types));
    set_uniform(test, [](std::int32_t t) { return t < 2048 ? 1.0f : 0.0f; });
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, 0.5, types.io);
            CHECK_THAT(result->lse[0], WithinAbs(8.317766, 1e-5));
        }
    }
}

namespace {

// Two tokens in a pool of fp8: the first stores the code 4 as K and 2 as V, the second zeros. The
// query makes the first score 8 * (the scale of K) * 2 / sqrt(head_dim).
PagedCase two_codes(std::int32_t head_dim, DType io_dtype = DType::fp32) {
    PagedCase test(one_head(head_dim, 16, 2, {DType::fp8_e4m3, io_dtype}));
    test.set_q(4.0f / static_cast<float>(head_dim));
    set_token(test, 0, 4.0f, 2.0f);
    set_token(test, 1, 0.0f, 0.0f);
    return test;
}

double read_of_two_codes(double k_scale, double v_scale, std::int32_t head_dim) {
    return 2.0 * v_scale / (1.0 + std::exp(-16.0 * k_scale / std::sqrt(head_dim)));
}

// That the kernels made for fp8 are among those that read it.
void require_decode_kernels_read(const ReadPath& path, std::int32_t head_dim, DType io_dtype,
                                 bool has_read) {
    if (path.name.starts_with("paged_decode") && head_dim >= 64 && io_dtype != DType::fp32) {
        REQUIRE(has_read);
    }
}

}  // namespace

TEST_CASE("OPEN-04: the scales of K and V are multiplied in once each, of the pool and of the head",
          "[reliability]") {
    const std::int32_t head_dim = GENERATE(16, 64, 128, 256);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    const auto [k_scale, v_scale] = GENERATE(std::pair{0.5f, 2.0f}, std::pair{2.0f, 0.5f},
                                             std::pair{1.0f, 1.0f}, std::pair{0.3f, 100.0f});
    REQUIRE_THAT(read_of_two_codes(0.5, 2.0, 16), WithinAbs(3.523188, 1e-6));
    PagedCase test = two_codes(head_dim, io_dtype);
    const float k_head = k_scale / 0.25f;
    const float v_head = v_scale / 4.0f;
    const nanoserve::KVScales of_pool = {.k = {.tensor = k_scale}, .v = {.tensor = v_scale}};
    const nanoserve::KVScales of_head = {.k = {.heads = &k_scale}, .v = {.heads = &v_scale}};
    const nanoserve::KVScales of_both = {.k = {.tensor = 0.25f, .heads = &k_head},
                                         .v = {.tensor = 4.0f, .heads = &v_head}};
    for (const ReadPath& path : paths()) {
        for (const nanoserve::KVScales& scales : {of_pool, of_head, of_both}) {
            CAPTURE(path, test.describe(), k_scale, v_scale);
            PagedAttentionParams params = test.params();
            params.kv.scales = scales;
            const auto result = read(path, test, params);
            require_decode_kernels_read(path, head_dim, io_dtype, result.has_value());
            if (result) {
                const double expected = read_of_two_codes(k_scale, v_scale, head_dim);
                REQUIRE_THAT(result->out[0], WithinAbs(expected, path.bounds(params).out));
            }
        }
    }
}

TEST_CASE("OPEN-04: no scale is a scale of 1", "[reliability]") {
    const std::int32_t head_dim = GENERATE(16, 64, 128, 256);
    const DType io_dtype = GENERATE(DType::fp32, DType::fp16, DType::bf16);
    PagedCase test = two_codes(head_dim, io_dtype);
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, read_of_two_codes(1.0, 1.0, head_dim), io_dtype);
            PagedAttentionParams params = test.params();
            params.kv.scales = {.k = {.tensor = 1.0f}, .v = {.tensor = 1.0f}};
            CHECK(read(path, test, params)->same_bits(*result));
        }
    }
}

TEST_CASE("OPEN-04: a scale that is not finite and positive is refused, for K and for V",
          "[reliability]") {
    const float bad = GENERATE(0.0f, -0.0f, -1.0f, NAN, INFINITY, -INFINITY);
    const bool is_key = GENERATE(true, false);
    PagedCase test = two_codes(64, GENERATE(DType::fp32, DType::bf16));
    PagedAttentionParams params = test.params();
    (is_key ? params.kv.scales.k : params.kv.scales.v).tensor = bad;
    for (const ReadPath& path : paths()) {
        CAPTURE(path, bad, is_key);
        CHECK_THROWS_AS(path.read(params), std::invalid_argument);
        CHECK(std::isnan(test.out_floats()[0]));
    }
}

TEST_CASE("OPEN-04: a pool that is not fp8 takes no scale but 1", "[reliability]") {
    PagedCase test(one_head(64, 16, 2, {DType::bf16, DType::bf16}));
    PagedAttentionParams params = test.params();
    params.kv.scales.v.tensor = 2.0f;
    for (const ReadPath& path : paths()) {
        CAPTURE(path);
        CHECK_THROWS_AS(path.read(params), std::invalid_argument);
        CHECK(std::isnan(test.out_floats()[0]));
    }
}

TEST_CASE("OPEN-05: query head h reads KV head h / group_size", "[reliability]") {
    const auto [num_q_heads, num_kv_heads] = GENERATE(
        std::pair{28, 4}, std::pair{48, 2}, std::pair{12, 12}, std::pair{8, 1}, std::pair{33, 3},
        std::pair{16, 1}, std::pair{17, 1}, std::pair{64, 8}, std::pair{40, 5});
    const std::int32_t head_dim = GENERATE(8, 64, 128);
    const Types types = GENERATE(from_range(kTypes));
    PagedCase test(
        {.shape = {.num_q_heads = num_q_heads, .num_kv_heads = num_kv_heads, .head_dim = head_dim},
         .block_size = 16,
         .seq_lens = {1},
         .dtype = types.pool,
         .io_dtype = types.io});
    for (int head = 0; head < num_kv_heads; ++head) {
        test.set_row(false, test.tables().block_tables[0], 0, head, static_cast<float>(head));
    }
    const int group_size = num_q_heads / num_kv_heads;
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        const auto result = read(path, test);
        for (std::size_t i = 0; result && i < result->out.size(); ++i) {
            const int head = static_cast<int>(i) / head_dim;
            REQUIRE(result->out[i] == static_cast<float>(head / group_size));
        }
    }
}

TEST_CASE("OPEN-05: head counts that do not divide are refused by both counts", "[reliability]") {
    const auto [num_q_heads, num_kv_heads] =
        GENERATE(std::pair{33, 2}, std::pair{3, 2}, std::pair{1, 2}, std::pair{0, 2});
    PagedCase test({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 64},
                    .block_size = 16,
                    .seq_lens = {5}});
    PagedAttentionParams params = test.params();
    params.num_q_heads = num_q_heads;
    const std::string reason =
        num_q_heads == 0
            ? "num_q_heads is 0; it must be at least 1"
            : nanoserve::join_text("num_q_heads is ", num_q_heads,
                                   ", which is no multiple of num_kv_heads ", num_kv_heads);
    const auto poison = test.out();
    for (const ReadPath& path : paths()) {
        CAPTURE(path);
        CHECK_THROWS_MATCHES(path.read(params), std::invalid_argument, Message(reason));
        CHECK(test.out() == poison);
    }
    params = test.params();
    params.kv.layout.num_kv_heads = 0;
    for (const ReadPath& path : paths()) {
        CAPTURE(path);
        CHECK_THROWS_MATCHES(path.read(params), std::invalid_argument,
                             Message("num_kv_heads is 0; it must be at least 1"));
    }
}

TEST_CASE("OPEN-06: every head_dim is read whole, with a default scale of its own",
          "[reliability]") {
    const std::int32_t head_dim = GENERATE(range(1, 260));
    PagedCase test(one_head(head_dim, 2, 2));
    test.set_q(1.0f);
    set_token(test, 0, 0.125f, 1.0f);
    set_token(test, 1, 0.0f, 0.0f);
    const double weight = 1.0 / (1.0 + std::exp(-0.125 * std::sqrt(head_dim)));
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, weight, DType::fp32);
        }
    }
}

TEST_CASE("OPEN-06: the default scale for every type, and a scale of 0 is 0", "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t head_dim = GENERATE(64, 80, 96, 112, 128, 192, 256);
    PagedCase test(one_head(head_dim, 16, 2, types));
    test.set_q(1.0f);
    set_token(test, 0, 0.125f, 1.0f);
    set_token(test, 1, 0.0f, 0.0f);
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, 1.0 / (1.0 + std::exp(-0.125 * std::sqrt(head_dim))), types.io);
            PagedAttentionParams params = test.params();
            params.sm_scale = 0.0f;
            check_all(*read(path, test, params), 0.5, types.io);
        }
    }
}

TEST_CASE("OPEN-06: a scale that is not finite is refused", "[reliability]") {
    const float sm_scale = GENERATE(INFINITY, -INFINITY, NAN);
    PagedCase test(one_head(64, 16, 2));
    PagedAttentionParams params = test.params();
    params.sm_scale = sm_scale;
    for (const ReadPath& path : paths()) {
        CAPTURE(path, sm_scale);
        CHECK_THROWS_AS(path.read(params), std::invalid_argument);
        CHECK(std::isnan(test.out_floats()[0]));
    }
}

namespace {

// Eight blocks of 16 tokens, 20 tokens in blocks 3 and 5 whose values are 1; block 0 holds 777.
PagedCase eight_blocks(Types types, std::vector<BlockId> table) {
    PagedCase test(one_head(64, 16, 5 * 16, types));
    REQUIRE(test.params().kv.layout.num_blocks == 8);
    test.set_q(0.0f);
    for (const BlockId block : {0, 3, 5}) {
        for (int slot = 0; slot < 16; ++slot) {
            test.set_row(true, block, slot, 0, 0.0f);
            test.set_row(false, block, slot, 0,
                         block == 0 ? 777.0f : 1.0f + static_cast<float>(block - 3));
        }
    }
    test.tables().max_blocks_per_seq = std::ssize(table);
    test.tables().block_tables = std::move(table);
    test.tables().seq_lens = {20};
    return test;
}

}  // namespace

TEST_CASE("OPEN-08: a used entry outside the pool is named, or is an absent block to a kernel",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const BlockId bad = GENERATE(-1, 8, 9, std::numeric_limits<BlockId>::max(),
                                 std::numeric_limits<BlockId>::min());
    PagedCase test = eight_blocks(types, {3, bad});
    for (const ReadPath& path : paths()) {
        CAPTURE(path, bad, test.describe());
        if (path.reason_to_refuse(test.params())) {
            continue;  // looked at elsewhere: the sizes alone decide
        }
        const PagedAttentionParams params = test.params();
        try {
            const std::uint32_t status = path.read(params);
            CHECK(status == (path.tells_absent_blocks ? nanoserve::kAbsentBlock : 0u));
            for (const float x : test.out_floats()) {
                REQUIRE(x == 1.0f);  // the 16 tokens of block 3
            }
            CHECK_THAT(test.lse()[0], WithinAbs(std::log(16.0), 1e-5));
        } catch (const std::invalid_argument& error) {
            CHECK(error.what() ==
                  nanoserve::join_text("block_tables[0, 1] is ", bad, "; the pool has 8 blocks"));
            CHECK(std::isnan(test.out_floats()[0]));
        }
    }
}

TEST_CASE("OPEN-08: entries behind the used ones are never followed", "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::vector<BlockId> table =
        GENERATE(std::vector{3, 5}, std::vector{3, 5, -1, -1}, std::vector{3, 5, 99999},
                 std::vector{3, 5, std::numeric_limits<BlockId>::min(),
                             std::numeric_limits<BlockId>::max()});
    PagedCase test = eight_blocks(types, table);
    for (const ReadPath& path : paths()) {
        CAPTURE(path, table);
        if (const auto result = read(path, test)) {
            CHECK(result->status == 0);
            check_all(*result, (16.0 * 1.0 + 4.0 * 3.0) / 20.0, types.io);
        }
    }
}

TEST_CASE("OPEN-09: the order and padding of pools and queries do not change a bit",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t head_dim = GENERATE(40, 64, 128);
    const std::int32_t block_size = head_dim == 40 ? 3 : 16;
    const CaseSpec dense = {.shape = {.num_q_heads = 6, .num_kv_heads = 2, .head_dim = head_dim},
                            .block_size = block_size,
                            .seq_lens = {0, 7, 33},
                            .dtype = types.pool,
                            .io_dtype = types.io};
    PagedCase first(dense);
    for (const ReadPath& path : paths()) {
        const auto expected = read(path, first);
        for (const PoolOrder order : {PoolOrder::nhd, PoolOrder::hnd, PoolOrder::interleaved}) {
            for (const auto& [row_padding, q_padding] :
                 {std::pair{0, 0}, std::pair{3, 13}, std::pair{8, 8}}) {
                CaseSpec spec = dense;
                spec.order = order;
                spec.row_padding = row_padding;
                spec.q_padding = q_padding;
                PagedCase test(spec);
                const auto result = read(path, test);
                CAPTURE(path, test.describe());
                if (!result || !expected) {
                    continue;
                }
                if (path.name != "paged_attention") {
                    REQUIRE(result->same_bits(*expected));
                } else {  // which may take another kernel for another padding
                    require_close(*result, *expected, expected->out.size(),
                                  path.bounds(test.params()).out + path.bounds(first.params()).out);
                }
            }
        }
    }
}

TEST_CASE("OPEN-09: scattered ids give what ids in order give, for every block size",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    const std::int32_t block_size = GENERATE(1, 3, 7, 16, 24, 256);
    const std::int32_t seq_len = 2 * block_size + 1;
    // 8 blocks: 5 used and 3 that nobody owns.
    PagedCase test(one_head(64, block_size, 5 * block_size, types));
    test.tables() = {.block_tables = {7, 0, 5}, .seq_lens = {seq_len}, .max_blocks_per_seq = 3};
    const double mean = set_uniform(test, small_value);
    PagedCase in_order(one_head(64, block_size, 5 * block_size, types));
    in_order.tables() = {.block_tables = {0, 1, 2}, .seq_lens = {seq_len}, .max_blocks_per_seq = 3};
    set_uniform(in_order, small_value);
    for (const ReadPath& path : paths()) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            check_all(*result, mean, types.io);
            CHECK(result->same_bits(*read(path, in_order)));
        }
    }
}

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kNumRepeats = 10;  // a hundred take minutes there
#else
constexpr int kNumRepeats = 100;
#endif

// The published row, the first of a batch of eight.
constexpr std::size_t kRowElements = 8 * 128;

PagedCase row_beside_others(Types types) {
    return PagedCase({.shape = {.num_q_heads = 8, .num_kv_heads = 2, .head_dim = 128},
                      .block_size = 16,
                      .seq_lens = {2000, 1, 100, 0, 17, 333, 64, 300},
                      .dtype = types.pool,
                      .io_dtype = types.io});
}

// The first rows alone, over outputs of NaN.
std::optional<Result> read_first(const ReadPath& path, PagedCase& test, std::int64_t num_seqs) {
    PagedAttentionParams params = test.params();
    params.num_seqs = num_seqs;
    return read(path, test, params);
}

// How far other neighbours and splits may move the row, as published; bf16 has an eighth of the
// precision of fp16.
double published_distance(DType io_dtype) {
    return io_dtype == DType::fp32 ? 1e-6 : io_dtype == DType::fp16 ? 1e-3 : 8e-3;
}

}  // namespace

TEST_CASE("OPEN-14: the same read has the same bits a hundred times, alone or beside others",
          "[reliability]") {
    const Types types = GENERATE(kTypes[0], kTypes[1], kFp8);
    PagedCase test = row_beside_others(types);
    std::map<std::string, Result> promised;  // also to other instruction sets or threads
    for (const ReadPath& path : paths()) {
        if (path.is_slow) {
            continue;
        }
        CAPTURE(path, test.describe());
        const auto alone = read_first(path, test, 1);
        const auto beside = read_first(path, test, 8);
        if (beside && !path.same_bits.empty()) {
            REQUIRE(promised.emplace(path.same_bits, *beside).first->second.same_bits(*beside));
        }
        if (path.name.starts_with("twin")) {
            continue;  // a hundred would take minutes: it counts every byte
        }
        for (int i = 0; alone && i < kNumRepeats; ++i) {
            REQUIRE(read_first(path, test, 1)->same_bits(*alone));
            REQUIRE((i % 20 != 0 || read_first(path, test, 8)->same_bits(*beside)));
        }
    }
}

TEST_CASE("OPEN-14: neighbours, splits and kernels move a row no further than published",
          "[reliability]") {
    const Types types = GENERATE(from_range(kTypes));
    PagedCase test = row_beside_others(types);
    std::optional<Result> first;
    for (const ReadPath& path : quick_paths(paths())) {
        for (const std::int64_t num_seqs : {1, 8}) {
            CAPTURE(path, num_seqs, test.describe());
            const auto result = read_first(path, test, num_seqs);
            first = first ? first : result;
            if (result) {
                require_close(*result, *first, kRowElements, published_distance(types.io));
            }
        }
    }
}

TEST_CASE("OPEN-15: a batch larger than a grid's second dimension is read to its last row",
          "[reliability]") {
    const auto [num_seqs, head_dim, types] = GENERATE(table<std::int32_t, std::int32_t, Types>(
        {{65535, 8, kTypes[0]}, {65536, 64, kFp8}, {65537, 64, kTypes[2]}}));
    PagedCase test(one_head(head_dim, 16, 1, types));
    set_token(test, 0, 1.0f, 1.5f);
    const BlockId block = test.tables().block_tables[0];
    const auto count = static_cast<std::size_t>(num_seqs);
    test.tables() = {.block_tables = std::vector<BlockId>(count, block),
                     .seq_lens = std::vector<std::int32_t>(count, 1),
                     .max_blocks_per_seq = 1};
    const std::vector<std::uint32_t> q(count * static_cast<std::size_t>(head_dim), 0);
    for (const ReadPath& path : quick_paths(paths())) {
        CAPTURE(path, num_seqs);
        PagedAttentionParams params = test.params();
        params.q = q.data();
        if (const auto result = read(path, test, params)) {
            check_all(*result, 1.5, types.io);
        }
    }
}

TEST_CASE("OPEN-15: a history longer than shared memory has scores for is read to its end",
          "[reliability]") {
    const Types types = GENERATE(kTypes[0], kTypes[2], kFp8);
    constexpr std::int32_t seq_len = 60000;  // 240000 bytes of scores
    PagedCase test(one_head(64, 16, seq_len, types));
    const double mean = set_uniform(test, [](std::int32_t t) { return t < 30000 ? 1.5f : 0.5f; });
    for (const ReadPath& path : quick_paths(paths())) {
        CAPTURE(path, test.describe());
        if (const auto result = read(path, test)) {
            // Tens of thousands of chunks round the sums: their share of the bound.
            const double bound = path.bounds(test.params()).out;
            for (const float x : result->out) {
                REQUIRE_THAT(x, WithinAbs(mean, bound));
            }
        }
    }
}
