// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include "build_info.hpp"

#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/provenance.hpp>

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace nanoserve::report {
namespace {

std::string value_in_file(const char* path, std::string_view key, char separator,
                          const char* otherwise) {
    try {
        return detail::find_value(read_file(path), key, separator).value_or(otherwise);
    } catch (const FileError&) {
        return otherwise;
    }
}

int count_cpus() {
    cpu_set_t allowed;
    return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                       utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\"'";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// "Xeon(R)" without its "(R)".
std::string without_marks(std::string_view word) {
    std::string plain(word);
    for (const char* mark : {"(R)", "(r)", "(TM)", "(tm)"}) {
        if (const std::size_t at = plain.find(mark); at != std::string::npos) {
            plain.erase(at, std::string_view(mark).size());
        }
    }
    return plain;
}

}  // namespace

namespace detail {

std::optional<std::string> find_value(std::string_view text, std::string_view key, char separator) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t split = line.find(separator);
        if (split != std::string_view::npos && trimmed(line.substr(0, split)) == key) {
            return std::string(trimmed(line.substr(split + 1)));
        }
    }
    return std::nullopt;
}

std::string short_cpu_name(std::string_view model_name) {
    model_name = model_name.substr(0, std::min(model_name.find(" @ "), model_name.find(" with ")));
    std::string name;
    while (!model_name.empty()) {
        const std::size_t end = std::min(model_name.find(' '), model_name.size());
        const std::string word = without_marks(model_name.substr(0, end));
        model_name.remove_prefix(std::min(end + 1, model_name.size()));
        if (!word.empty() && word != "CPU" && word != "Processor" && !word.ends_with("-Core")) {
            name += name.empty() ? word : fmt::format(" {}", word);
        }
    }
    return name;
}

}  // namespace detail

Provenance collect_provenance(std::string_view instruction_set, std::optional<GpuFacts> gpu) {
    return {.cpu = value_in_file("/proc/cpuinfo", "model name", ':', "unknown CPU"),
            .num_cpus = count_cpus(),
            .os = value_in_file("/etc/os-release", "PRETTY_NAME", '=', "unknown"),
            .compiler = build_info::kCompiler,
            .build_type = build_info::kBuildType,
            .compile_flags = build_info::kCompileFlags,
            .commit = build_info::kCommit,
            .date_utc = utc_now(),
            .instruction_set = std::string(instruction_set),
            .gpu = std::move(gpu)};
}

std::string machine_name(const Provenance& provenance) {
    if (provenance.gpu) {
        return provenance.gpu->name;
    }
    return fmt::format("{}, {} CPU{}", detail::short_cpu_name(provenance.cpu), provenance.num_cpus,
                       provenance.num_cpus == 1 ? "" : "s");
}

std::string plot_caption(const Provenance& provenance) {
    std::string caption = machine_name(provenance);
    if (provenance.gpu) {
        caption += fmt::format(" · CUDA {} · driver {} · {}", provenance.gpu->cuda,
                               provenance.gpu->driver, provenance.gpu->clocks);
    } else if (!provenance.instruction_set.empty()) {
        caption += " · " + provenance.instruction_set;
    }
    return caption + fmt::format(" · {} {} · {} · commit {}", provenance.compiler,
                                 provenance.build_type, provenance.date_utc.substr(0, 10),
                                 provenance.commit);
}

}  // namespace nanoserve::report
