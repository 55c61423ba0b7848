// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/plot/gnuplot_text.hpp>

namespace nanoserve::report {
namespace {

std::string without_markup(std::string_view text) {
    std::string plain;
    for (const char character : text) {
        if (std::string_view("_^{}@&~\\").find(character) != std::string_view::npos) {
            plain += '\\';
        }
        plain += character;
    }
    return plain;
}

}  // namespace

std::string gnuplot_literal(std::string_view text) {
    std::string literal = "'";
    for (const char character : text) {
        literal.append(character == '\'' ? 2 : 1, character == '\n' ? ' ' : character);
    }
    return literal + "'";
}

std::string gnuplot_label(std::string_view text) {
    return gnuplot_literal(without_markup(text));
}

std::string gnuplot_bold(std::string_view text) {
    return gnuplot_literal("{/:Bold " + without_markup(text) + "}");
}

}  // namespace nanoserve::report
