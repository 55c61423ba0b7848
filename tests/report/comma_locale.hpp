// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// A locale with decimal commas, as on many learners' machines, made without any being installed.
#pragma once

#include <report/temporary_folder.hpp>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <string>

namespace nanoserve::report::testing {

/// As long as it lives, the global C++ locale writes 1.234,5, and so do printf and strtod where
/// the C library's `localedef` is at hand (it is on Debian).
class CommaLocale {
  public:
    /// What `localedef` calls the decimal point of Persian, two bytes of UTF-8.
    static constexpr const char* kTwoBytes = "<U066B>";

    /// With another `point`, printf and strtod have that one instead of the comma.
    explicit CommaLocale(const char* point = ",")
        : old_(std::locale::global(std::locale(std::locale::classic(), new Commas))) {
        compile(point);
        ::setenv("LOCPATH", folder_.path().c_str(), 1);
        speaks_c_ = std::setlocale(LC_NUMERIC, "commas") != nullptr;
    }
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;
    ~CommaLocale() {
        std::setlocale(LC_NUMERIC, "C");
        ::unsetenv("LOCPATH");
        std::locale::global(old_);
    }

    /// Whether there is a `localedef`: with one, the C library writes commas, or that point, too.
    [[nodiscard]] static bool can_speak_c() {
        return std::system("command -v localedef >/dev/null 2>&1") == 0;
    }
    /// Whether it does.
    [[nodiscard]] bool speaks_c() const { return speaks_c_; }

  private:
    struct Commas : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };

    // localedef needs a table of characters, and Debian's are in a package of their own. It
    // complains that there is nothing but numbers, and writes those.
    void compile(const std::string& point) const {
        const std::filesystem::path source = folder_.path() / "source";
        std::ofstream(source) << "LC_NUMERIC\ndecimal_point \"" + point +
                                     "\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n";
        const std::filesystem::path characters = folder_.path() / "characters";
        {
            std::ofstream table(characters);
            table << "<code_set_name> UTF-8\n<comment_char> %\n<escape_char> /\n"
                     "<mb_cur_min> 1\n<mb_cur_max> 2\nCHARMAP\n";
            constexpr const char* kDigits = "0123456789abcdef";
            for (int code = 0; code < 128; ++code) {
                const std::string hex = {kDigits[code / 16], kDigits[code % 16]};
                table << "<U00" + hex + "> /x" + hex + "\n";
            }
            table << kTwoBytes << " /xd9/xab\nEND CHARMAP\n";
        }
        const std::string command = "localedef -c -i '" + source.string() + "' -f '" +
                                    characters.string() + "' '" +
                                    (folder_.path() / "commas").string() + "' >/dev/null 2>&1";
        static_cast<void>(std::system(command.c_str()));
    }

    TemporaryFolder folder_;
    std::locale old_;
    bool speaks_c_ = false;
};

}  // namespace nanoserve::report::testing
