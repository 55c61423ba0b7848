// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/model/require.hpp>

#include <kernels/general/access_report.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace nanoserve {
namespace {

// Reads of every slot of the pool, by flat slot.
struct SlotCounts {
    std::vector<std::int64_t> k, v;

    explicit SlotCounts(const KVLayout& layout)
        : k(static_cast<std::size_t>(std::int64_t{layout.num_blocks} * layout.block_size)), v(k) {}

    // A row counts as often as the element of it that was read most.
    void add(const HeadAccess& access) {
        for (const auto& [slot, reads] : access.rows) {
            k[static_cast<std::size_t>(slot)] += *std::ranges::max_element(reads.k);
            v[static_cast<std::size_t>(slot)] += *std::ranges::max_element(reads.v);
        }
    }
};

char digit(std::int64_t count) {
    if (count == 0) {
        return '.';
    }
    return count > 9 ? '+' : static_cast<char>('0' + count);
}

// Columns of one block: its slots, or its id where that is longer.
std::size_t block_width(const KVLayout& layout) {
    return std::max(static_cast<std::size_t>(layout.block_size),
                    std::to_string(layout.num_blocks - 1).size());
}

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
}

std::string without_trailing_spaces(const std::string& line) {
    return line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
}

constexpr std::size_t kLabelWidth = 18;  // "query head 127  K "

std::string line_of(const std::string& label, const KVLayout& layout,
                    const std::vector<std::int64_t>& counts) {
    std::string line = padded(label, kLabelWidth);
    auto count = counts.begin();
    for (std::int32_t block = 0; block < layout.num_blocks; ++block) {
        std::string slots;
        for (std::int32_t i = 0; i < layout.block_size; ++i) {
            slots += digit(*count++);
        }
        line += padded(slots, block_width(layout)) + ' ';
    }
    return without_trailing_spaces(line);
}

std::string lines_of(const std::string& label, const KVLayout& layout, const SlotCounts& counts) {
    return line_of(padded(label, kLabelWidth - 2) + "K", layout, counts.k) +
           line_of(padded("", kLabelWidth - 2) + "V", layout, counts.v);
}

std::string heading(std::int64_t seq, const KVLayout& layout) {
    std::string line = padded(join_text("sequence ", seq), kLabelWidth);
    for (std::int32_t block = 0; block < layout.num_blocks; ++block) {
        line += padded(std::to_string(block), block_width(layout)) + ' ';
    }
    return without_trailing_spaces(line);
}

}  // namespace

std::string access_picture(const AccessReport& report) {
    const KVLayout& layout = report.layout;
    const std::int32_t group_size = report.num_q_heads / layout.num_kv_heads;
    std::string picture;
    for (std::int64_t seq = 0; seq < report.num_seqs; ++seq) {
        picture += heading(seq, layout);
        std::vector<SlotCounts> groups(static_cast<std::size_t>(layout.num_kv_heads),
                                       SlotCounts(layout));
        for (std::int32_t head = 0; head < report.num_q_heads; ++head) {
            SlotCounts counts(layout);
            counts.add(report.at(seq, head));
            groups[static_cast<std::size_t>(head / group_size)].add(report.at(seq, head));
            if (report.num_q_heads != layout.num_kv_heads) {  // else the same as the KV head's
                picture += lines_of(join_text("query head ", head), layout, counts);
            }
        }
        for (std::int32_t head = 0; head < layout.num_kv_heads; ++head) {
            picture += lines_of(join_text("KV head ", head), layout,
                                groups[static_cast<std::size_t>(head)]);
        }
    }
    return picture;
}

}  // namespace nanoserve
