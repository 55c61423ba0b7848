// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/csv_cells.hpp>
#include <nanoserve/report/file_error.hpp>

#include <fmt/core.h>

namespace nanoserve::report {
namespace {

class RecordParser {
  public:
    explicit RecordParser(std::string_view text) : text_(text) {}

    std::vector<CsvRecord> parse() {
        std::vector<CsvRecord> records;
        while (position_ < text_.size()) {
            records.push_back(parse_record());
        }
        return records;
    }

  private:
    CsvRecord parse_record() {
        CsvRecord record{line_, {}};
        do {
            record.cells.push_back(at('"') ? parse_quoted() : parse_bare());
        } while (skip(","));
        if (position_ < text_.size() && !skip("\r\n") && !skip("\n")) {
            fail("text behind a closing quote, or a line end without \\n");
        }
        ++line_;
        return record;
    }

    std::string parse_bare() {
        const std::size_t begin = position_;
        position_ = std::min(text_.find_first_of(",\"\r\n", begin), text_.size());
        if (at('"')) {
            fail("a quote inside a cell that does not begin with one");
        }
        return std::string(text_.substr(begin, position_ - begin));
    }

    std::string parse_quoted() {
        std::string cell;
        const std::size_t first_line = line_;
        for (++position_; position_ < text_.size(); ++position_) {
            const char character = text_[position_];
            if (character == '"') {
                ++position_;
                if (!at('"')) {
                    return cell;
                }
            }
            line_ += character == '\n' ? 1 : 0;
            cell += character;
        }
        line_ = first_line;
        fail("a quote that is never closed");
    }

    bool at(char character) const {
        return position_ < text_.size() && text_[position_] == character;
    }

    bool skip(std::string_view token) {
        if (!text_.substr(position_).starts_with(token)) {
            return false;
        }
        position_ += token.size();
        return true;
    }

    [[noreturn]] void fail(std::string_view reason) const {
        throw FileError(fmt::format("line {}: {}", line_, reason));
    }

    std::string_view text_;
    std::size_t position_ = 0;
    std::size_t line_ = 1;
};

}  // namespace

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return std::string(text);
    }
    std::string cell = "\"";
    for (const char character : text) {
        cell.append(character == '"' ? 2 : 1, character);
    }
    return cell + '"';
}

std::vector<CsvRecord> parse_csv_records(std::string_view text) {
    return RecordParser(text).parse();
}

}  // namespace nanoserve::report
