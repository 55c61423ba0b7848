// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/block_picture.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace nanoserve::report {
namespace {

char name_of(std::size_t seq_index) {
    return static_cast<char>('A' + seq_index % 26);
}

// The tokens of logical block `index`, "4 5 6 7" or "8 9 . .", each as wide as the largest number.
std::string tokens_text(std::int64_t seq_len, std::int64_t block_size, std::int64_t index) {
    const auto width = fmt::format("{}", std::max<std::int64_t>(0, seq_len - 1)).size();
    std::string text;
    for (std::int64_t token = index * block_size; token < (index + 1) * block_size; ++token) {
        text += text.empty() ? "" : " ";
        text += token < seq_len ? fmt::format("{:>{}}", token, width)
                                : fmt::format("{:>{}}", '.', width);
    }
    return text;
}

// Three lines: logical block, physical block, tokens; one column for each block.
std::string table_text(const PagedKVCache& cache, SeqId seq, char name) {
    const auto table = cache.block_table(seq);
    const std::int64_t seq_len = cache.seq_len(seq);
    std::string logical = fmt::format("{}  logical  ", name);
    std::string physical = "   physical ";
    std::string tokens = "   tokens   ";
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto held =
            tokens_text(seq_len, cache.layout().block_size, static_cast<std::int64_t>(i));
        logical += fmt::format("  {:<{}}", i, held.size());
        physical += fmt::format("  {:<{}}", table[i], held.size());
        tokens += fmt::format("  {}", held);
    }
    for (std::string* line : {&logical, &physical, &tokens}) {
        line->erase(line->find_last_not_of(' ') + 1);
    }
    return fmt::format("{}\n{}\n{}\n", logical, physical, tokens);
}

// Who holds each physical block: "A2" is logical block 2 of A, "A0,B0" a shared one.
std::vector<std::string> holders_of(const PagedKVCache& cache, std::span<const SeqId> seqs) {
    std::vector<std::string> holders(static_cast<std::size_t>(cache.pool().num_blocks()));
    for (std::size_t s = 0; s < seqs.size(); ++s) {
        const auto table = cache.block_table(seqs[s]);
        for (std::size_t i = 0; i < table.size(); ++i) {
            std::string& holder = holders[static_cast<std::size_t>(table[i])];
            holder += fmt::format("{}{}{}", holder.empty() ? "" : ",", name_of(s), i);
        }
    }
    return holders;
}

std::string pool_text(const PagedKVCache& cache, std::span<const SeqId> seqs) {
    std::string blocks = "pool  block ";
    std::string holders = "      holder";
    const auto names = holders_of(cache, seqs);
    for (std::size_t block = 0; block < names.size(); ++block) {
        const std::string name = names[block].empty() ? "." : names[block];
        const std::size_t width = std::max<std::size_t>(name.size(), 2);
        blocks += fmt::format("  {:<{}}", block, width);
        holders += fmt::format("  {:<{}}", name, width);
    }
    blocks.erase(blocks.find_last_not_of(' ') + 1);
    holders.erase(holders.find_last_not_of(' ') + 1);
    return fmt::format("{}\n{}\n", blocks, holders);
}

}  // namespace

std::string block_picture(const PagedKVCache& cache, std::span<const SeqId> seqs) {
    std::string picture;
    for (std::size_t s = 0; s < seqs.size(); ++s) {
        picture += table_text(cache, seqs[s], name_of(s)) + "\n";
    }
    return picture + pool_text(cache, seqs);
}

}  // namespace nanoserve::report
