// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// The check of random reads has to find reads that are wrong.
#include "reliability/read_case.hpp"

#include <nanoserve/attention/paged_attention_reference.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <stdexcept>

using Catch::Matchers::ContainsSubstring;
using nanoserve::PagedAttentionParams;
using nanoserve::testing::fault_of_read_case;
using nanoserve::testing::ReadPath;

namespace {

ReadPath right_path() {
    return {.name = "right",
            .read =
                [](const PagedAttentionParams& p) {
                    paged_attention_reference(p);
                    return 0u;
                },
            .reason_to_refuse = [](const PagedAttentionParams&) { return std::nullopt; },
            .bounds =
                [](const PagedAttentionParams& p) {
                    return nanoserve::RoundingBounds{.out = rounding_bound(p),
                                                     .lse = lse_rounding_bound(p)};
                }};
}

// The first fault that 60 cases show.
std::string fault_of(const std::vector<ReadPath>& paths) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        if (const auto fault = fault_of_read_case(seed, paths)) {
            return *fault;
        }
    }
    return "none";
}

template <class Read>
std::string fault_of_read(Read read) {
    ReadPath path = right_path();
    path.name = "wrong";
    path.read = [read](const PagedAttentionParams& p) {
        read(p);
        return 0u;
    };
    return fault_of({path});
}

std::int64_t num_rows(const PagedAttentionParams& p) {
    return p.num_seqs * p.num_q_heads;
}

}  // namespace

TEST_CASE("the check of random reads passes a right read", "[reliability]") {
    CHECK(fault_of({right_path()}) == "none");
}

TEST_CASE("the check of random reads finds a last token left out, with its seed", "[reliability]") {
    const std::string fault = fault_of_read([](PagedAttentionParams p) {
        std::vector<std::int32_t> seq_lens(p.seq_lens, p.seq_lens + p.num_seqs);
        for (std::int32_t& seq_len : seq_lens) {
            seq_len -= seq_len > 1 ? 1 : 0;
        }
        p.seq_lens = seq_lens.data();
        paged_attention_reference(p);
    });
    CHECK_THAT(fault, ContainsSubstring("seed ") && ContainsSubstring("wrong: ") &&
                          ContainsSubstring("the oracle has"));
}

TEST_CASE("the check of random reads finds a scale that is not the caller's", "[reliability]") {
    CHECK(fault_of_read([](PagedAttentionParams p) {
              p.sm_scale = {};
              paged_attention_reference(p);
          }) != "none");
}

TEST_CASE("the check of random reads finds an lse of base 2", "[reliability]") {
    CHECK_THAT(fault_of_read([](const PagedAttentionParams& p) {
                   paged_attention_reference(p);
                   for (std::int64_t row = 0; row < num_rows(p); ++row) {
                       p.lse[row] /= std::log(2.0f);
                   }
               }),
               ContainsSubstring("lse["));
}

TEST_CASE("the check of random reads finds an output that nobody wrote", "[reliability]") {
    CHECK_THAT(fault_of_read([](const PagedAttentionParams&) {}),
               ContainsSubstring("out[0] is nan"));
}

TEST_CASE("the check of random reads finds an output outside the range of its values",
          "[reliability]") {
    // A relative error that large scores would explain.
    CHECK_THAT(fault_of_read([](const PagedAttentionParams& p) {
                   paged_attention_reference(p);
                   if (p.io_dtype == nanoserve::DType::fp32) {
                       auto* out = static_cast<float*>(p.out);
                       for (std::int64_t i = 0; i < num_rows(p) * p.kv.layout.head_dim; ++i) {
                           out[i] *= 1.0f + 0x1p-14f;
                       }
                   }
               }),
               ContainsSubstring("its values lie in") || ContainsSubstring("the oracle has"));
}

TEST_CASE("the check of random reads finds bits that differ where they should not",
          "[reliability]") {
    ReadPath first = right_path();
    first.same_bits = "the same";
    ReadPath second = first;
    second.read = [](const PagedAttentionParams& p) {
        paged_attention_reference(p);
        p.lse[0] = std::nextafter(p.lse[0], 0.0f);
        return 0u;
    };
    CHECK_THAT(fault_of({first, second}), ContainsSubstring("its bits are not those"));
}

TEST_CASE("the check of random reads finds a status word, a wrong refusal and a missing one",
          "[reliability]") {
    ReadPath path = right_path();
    path.read = [](const PagedAttentionParams& p) {
        paged_attention_reference(p);
        return 1u;
    };
    CHECK_THAT(fault_of({path}), ContainsSubstring("the status word is 1"));
    path = right_path();
    path.reason_to_refuse = [](const PagedAttentionParams&) { return "too odd"; };
    CHECK_THAT(fault_of({path}), ContainsSubstring("it takes what it should refuse: too odd"));
    path.read = [](const PagedAttentionParams& p) -> std::uint32_t {
        paged_attention_reference(p);
        throw std::invalid_argument("too odd");
    };
    CHECK_THAT(fault_of({path}), ContainsSubstring("and writes"));
    path.read = [](const PagedAttentionParams&) -> std::uint32_t {
        throw std::invalid_argument("too late");
    };
    CHECK_THAT(fault_of({path}), ContainsSubstring("too late"));
}
