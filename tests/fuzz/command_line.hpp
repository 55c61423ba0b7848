// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A fuzzer's bytes as a command line, and back: each word ends with a NUL, as in a real one.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nanoserve::fuzz {

class CommandLine {
  public:
    /// The words behind the program's name.
    CommandLine(std::string program, std::string_view words) {
        words_.push_back(std::move(program));
        while (!words.empty()) {
            const std::size_t end = std::min(words.find('\0'), words.size());
            words_.emplace_back(words.substr(0, end));
            words.remove_prefix(std::min(end + 1, words.size()));
        }
        point();
    }

    /// "--name value" for each pair; '_' in a name becomes '-'.
    CommandLine(std::string program,
                const std::vector<std::pair<std::string, std::string>>& options) {
        words_.push_back(std::move(program));
        for (const auto& [name, value] : options) {
            std::string flag = "--" + name;
            std::replace(flag.begin(), flag.end(), '_', '-');
            words_.push_back(flag);
            words_.push_back(value);
        }
        point();
    }

    [[nodiscard]] int argc() const { return static_cast<int>(pointers_.size()); }
    [[nodiscard]] const char* const* argv() const { return pointers_.data(); }

  private:
    void point() {
        for (const std::string& word : words_) {
            pointers_.push_back(word.c_str());
        }
    }

    std::vector<std::string> words_;
    std::vector<const char*> pointers_;
};

}  // namespace nanoserve::fuzz
