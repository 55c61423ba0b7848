// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "block_diagram.hpp"

#include "page_error.hpp"
#include "text.hpp"

#include <nanoserve/report/number_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace nanoserve::pages {
namespace {

using Words = std::vector<std::string_view>;

int block_number(std::string_view word) {
    const auto number = report::parse_int64(word);
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) {
        throw PageError(fmt::format("\"{}\" is no block of a pool", word));
    }
    return static_cast<int>(*number);
}

// The slots of a sequence, dealt out to its blocks in equal shares.
std::vector<std::string> tokens_by_block(const Words& slots, std::size_t num_blocks) {
    if (num_blocks == 0 || slots.size() % num_blocks != 0) {
        throw PageError(fmt::format("{} slots don't fill {} blocks", slots.size(), num_blocks));
    }
    const auto share = static_cast<std::ptrdiff_t>(slots.size() / num_blocks);
    std::vector<std::string> blocks;
    for (auto slot = slots.begin(); slot != slots.end(); slot += share) {
        blocks.push_back(fmt::format("{}", fmt::join(slot, slot + share, " ")));
    }
    return blocks;
}

void check(const PrintedPool& pool) {
    if (pool.holders.empty()) {
        throw PageError("the text shows no pool");
    }
    for (const auto& [letter, sequence] : pool.sequences) {
        if (sequence.tokens.size() != sequence.physical.size()) {
            throw PageError(fmt::format("sequence {} has {} blocks and tokens for {}", letter,
                                        sequence.physical.size(), sequence.tokens.size()));
        }
        for (std::size_t i = 0; i < sequence.physical.size(); ++i) {
            const auto block = static_cast<std::size_t>(sequence.physical[i]);
            if (block >= pool.holders.size() ||
                pool.holders[block] != fmt::format("{}{}", letter, i)) {
                throw PageError(
                    fmt::format("block {} of the pool doesn't hold {}{}", block, letter, i));
            }
        }
    }
}

const PrintedPool::Sequence& find_sequence(const PrintedPool& pool, const std::string& letter) {
    const auto found = pool.sequences.find(letter);
    if (found == pool.sequences.end()) {
        throw PageError(fmt::format("the text shows no sequence {}", letter));
    }
    return found->second;
}

std::string head(std::string_view name) {
    return fmt::format(
        "digraph {} {{\n"
        "  stylesheet=\"diagram.css\"; rankdir=TB; nodesep=0.08; ranksep=0.5; "
        "bgcolor=transparent;\n"
        "  node [shape=box, fontname=\"DejaVu Sans\", fontsize=11, width=0.52, height=0.42, "
        "margin=\"0.07,0.04\"];\n"
        "  edge [arrowsize=0.6, class=\"a\", fontname=\"DejaVu Sans\", fontsize=10];\n",
        name);
}

// The boxes of the pool, b0 to bN: those of `letter` in its colour, others' in the class `others`.
std::string pool_boxes(const PrintedPool& pool, const std::string& letter,
                       std::string_view others) {
    std::string text;
    for (std::size_t i = 0; i < pool.holders.size(); ++i) {
        const std::string& holder = pool.holders[i];
        const bool is_free = holder == ".";
        const std::string_view colour = holder.starts_with(letter) ? "a" : others;
        text += fmt::format("  b{0} [label=\"{0}{1}\", class=\"{2}\"];\n", i,
                            is_free ? "" : "\\n" + holder, is_free ? "" : colour);
    }
    return text;
}

// Boxes name0, name1, ... side by side behind a label.
std::string one_row(std::string_view label, std::string_view name, std::size_t count) {
    std::string text = fmt::format("  {{rank=same; edge [style=invis, class=\"\"]; {}", label);
    for (std::size_t i = 0; i < count; ++i) {
        text += fmt::format(" -> {}{}", name, i);
    }
    return text + "}\n";
}

}  // namespace

PrintedPool parse_printed_pool(std::string_view text) {
    PrintedPool pool;
    PrintedPool::Sequence* sequence = nullptr;
    for (const std::string_view line : split(text, "\n")) {
        const Words words = split(line, " ");
        const Words values(words.begin() + 1, words.end());
        if (values.size() > 1 && values[0] == "logical") {
            sequence = &pool.sequences[std::string(words[0])];
        } else if (words[0] == "physical" && sequence != nullptr) {
            std::transform(values.begin(), values.end(), std::back_inserter(sequence->physical),
                           block_number);
        } else if (words[0] == "tokens" && sequence != nullptr) {
            sequence->tokens = tokens_by_block(values, sequence->physical.size());
        } else if (words[0] == "holder") {
            pool.holders.assign(values.begin(), values.end());
        }
    }
    check(pool);
    return pool;
}

std::string gather_diagram(const PrintedPool& pool, const std::string& letter) {
    const PrintedPool::Sequence& sequence = find_sequence(pool, letter);
    std::string text = head("gather");
    text += fmt::format(
        "  node [class=\"note\"]; lt [label=\"table of {}\"]; lp [label=\"pool\"]; "
        "lh [label=\"history\"];\n",
        letter);
    text += "  node [class=\"a\"];\n";
    for (std::size_t i = 0; i < sequence.physical.size(); ++i) {
        text += fmt::format(
            "  t{0} [label=\"{0} → {1}\"]; h{0} [label=\"{2}{0}\\n{3}\", "
            "width=0.95];\n",
            i, sequence.physical[i], letter, sequence.tokens[i]);
    }
    text += pool_boxes(pool, letter, "b");
    text += one_row("lt", "t", sequence.physical.size());
    text += one_row("lp", "b", pool.holders.size());
    text += one_row("lh", "h", sequence.physical.size());
    text += "  lt -> lp -> lh [style=invis, class=\"\"];\n";
    for (std::size_t i = 0; i < sequence.physical.size(); ++i) {
        text += fmt::format("  t{0} -> b{1} -> h{0};\n", i, sequence.physical[i]);
    }
    return text + "}\n";
}

std::string fused_diagram(const PrintedPool& pool, const std::string& letter) {
    const PrintedPool::Sequence& sequence = find_sequence(pool, letter);
    std::string text = head("fused");
    text += "  node [class=\"note\"]; lp [label=\"pool\"];\n  node [class=\"\"];\n";
    text += pool_boxes(pool, letter, "");
    text += "  node [style=rounded, margin=\"0.12,0.06\"]; q; scores; weights; out;\n";
    text += one_row("lp", "b", pool.holders.size());
    text += "  {rank=same; edge [class=\"\"]; q -> scores -> weights -> out [minlen=2]}\n";
    for (const int block : sequence.physical) {
        text += fmt::format("  b{0} -> scores;\n  b{0} -> out [class=\"b\"];\n", block);
    }
    return text + "}\n";
}

}  // namespace nanoserve::pages
