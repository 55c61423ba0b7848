// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/atomic_file.hpp>
#include <nanoserve/report/csv.hpp>
#include <nanoserve/report/file_error.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

// newlocale and uselocale are POSIX, not C++.
#include <locale.h>
#if __has_include(<xlocale.h>)  // macOS has them there
#include <xlocale.h>
#endif

#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve::report {
namespace {

using Json = nlohmann::ordered_json;

// Grows whenever a reader of the old files would misread the new ones.
constexpr int kSchema = 1;

Json number_or_null(std::optional<double> value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

// The library would turn true into 1 and cut 2.5 down to 2; to a reader of results that is an
// error.
double number(const Json& json) {
    if (!json.is_number()) {
        throw FileError(fmt::format("a {} where a number is due", json.type_name()));
    }
    return json.get<double>();
}

std::optional<double> optional_number(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(number(json));
}

// Iterating, the library would take a number for a list of one, and null for an empty one.
const Json& list(const Json& json, const char* name) {
    const Json& member = json.at(name);
    if (!member.is_array()) {
        throw FileError(fmt::format("{} is no list but a {}", name, member.type_name()));
    }
    return member;
}

const Json& object(const Json& json, const char* name) {
    const Json& member = json.at(name);
    if (!member.is_object()) {
        throw FileError(fmt::format("{} is no object but a {}", name, member.type_name()));
    }
    return member;
}

template <class Whole>
Whole whole_number(const Json& json, const char* name) {
    constexpr auto kMax = std::uint64_t{std::numeric_limits<Whole>::max()};
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > kMax) {
        throw FileError(fmt::format("{} is no whole number from 0 to {}", name, kMax));
    }
    return json.get<Whole>();
}

Json gpu_json(const GpuFacts& gpu) {
    return {{"name", gpu.name}, {"cuda", gpu.cuda}, {"driver", gpu.driver}, {"clocks", gpu.clocks}};
}

GpuFacts parse_gpu(const Json& json) {
    return {json.at("name"), json.at("cuda"), json.at("driver"), json.at("clocks")};
}

Json provenance_json(const Provenance& provenance) {
    return {{"cpu", provenance.cpu},
            {"num_cpus", provenance.num_cpus},
            {"os", provenance.os},
            {"compiler", provenance.compiler},
            {"build_type", provenance.build_type},
            {"compile_flags", provenance.compile_flags},
            {"commit", provenance.commit},
            {"date_utc", provenance.date_utc},
            {"instruction_set", provenance.instruction_set},
            {"gpu", provenance.gpu ? gpu_json(*provenance.gpu) : Json(nullptr)}};
}

Provenance parse_provenance(const Json& json) {
    Provenance provenance;
    json.at("cpu").get_to(provenance.cpu);
    provenance.num_cpus = whole_number<int>(json.at("num_cpus"), "num_cpus");
    json.at("os").get_to(provenance.os);
    json.at("compiler").get_to(provenance.compiler);
    json.at("build_type").get_to(provenance.build_type);
    json.at("compile_flags").get_to(provenance.compile_flags);
    json.at("commit").get_to(provenance.commit);
    json.at("date_utc").get_to(provenance.date_utc);
    json.at("instruction_set").get_to(provenance.instruction_set);
    if (!json.at("gpu").is_null()) {
        provenance.gpu = parse_gpu(object(json, "gpu"));
    }
    return provenance;
}

void insert_once(Json& object, const std::string& name, Json value) {
    if (object.contains(name)) {
        throw std::invalid_argument(fmt::format("sidecar: \"{}\" occurs twice", name));
    }
    object[name] = std::move(value);
}

Json series_json(const SampleSeries& series) {
    Json samples = Json::array();
    for (const double sample : series.samples_ns) {
        samples.push_back(number_or_null(sample));
    }
    return {{"read", series.read},
            {"seq_len", series.seq_len},
            {"role", series.role},
            {"samples_ns", std::move(samples)}};
}

SampleSeries parse_series(const Json& json) {
    SampleSeries series{json.at("read"),
                        whole_number<std::int64_t>(json.at("seq_len"), "seq_len"),
                        json.at("role"),
                        {}};
    for (const Json& sample : list(json, "samples_ns")) {
        series.samples_ns.push_back(
            optional_number(sample).value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    return series;
}

// Text that is not UTF-8 gets replacement marks: a strange CPU name must not cost a run's data.
std::string dump(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// One member of the outermost object, spread over lines and indented once.
std::string outer_member(const std::string& name, const Json& value) {
    std::string text = fmt::format("  \"{}\": {},\n", name, dump(value, 2));
    for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
        text.insert(at + 1, "  ");
    }
    return text;
}

Sidecar sidecar_from_json(const Json& json) {
    if (const int schema = whole_number<int>(json.at("schema"), "schema"); schema != kSchema) {
        throw FileError(fmt::format("schema {} instead of {}", schema, kSchema));
    }
    Sidecar sidecar;
    sidecar.provenance = parse_provenance(object(json, "provenance"));
    for (const auto& [name, value] : object(json, "options").items()) {
        sidecar.options.emplace_back(name, value.get<std::string>());
    }
    for (const auto& [name, value] : object(json, "fitted").items()) {
        sidecar.fitted.emplace_back(name, optional_number(value));
    }
    for (const Json& series : list(json, "samples")) {
        sidecar.samples.push_back(parse_series(series));
    }
    return sidecar;
}

// The library reads a number by strtod, with the first byte of the locale's decimal point in place
// of the point: where that has two bytes, strtod stops there and 1.5 is 1. As long as this lives,
// the locale of this thread, and of no other, is C's.
class CLocale {
  public:
    CLocale() {
        static const locale_t c = ::newlocale(LC_ALL_MASK, "C", nullptr);
        old_ = ::uselocale(c);
    }
    CLocale(const CLocale&) = delete;
    CLocale& operator=(const CLocale&) = delete;
    ~CLocale() { ::uselocale(old_); }

  private:
    locale_t old_;
};

// Of two members with one name the library would keep the last, and nobody knows which is meant.
Json parse_unique(std::string_view text) {
    using Event = Json::parse_event_t;
    const CLocale c_locale;
    std::vector<std::set<std::string>> names;  // of each object that is open
    return Json::parse(text, [&](int /*depth*/, Event event, const Json& parsed) {
        if (event == Event::object_start) {
            names.emplace_back();
        } else if (event == Event::object_end) {
            names.pop_back();
        } else if (event == Event::key && !names.back().insert(parsed.get<std::string>()).second) {
            throw FileError(fmt::format("no sidecar: {} occurs twice", parsed.dump()));
        }
        return true;
    });
}

// Uniform batches of bf16 are not named: most records hold nothing else.
std::string batch_name(const ReadRow& row) {
    return fmt::format("{}/{}/{} num_seqs {}{}{}", row.num_q_heads, row.num_kv_heads, row.head_dim,
                       row.num_seqs, row.pattern == "uniform" ? "" : " " + row.pattern,
                       row.dtype == "bf16" ? "" : " " + row.dtype);
}

}  // namespace

std::string series_name(const ReadRow& row) {
    return fmt::format("{} {}", row.read, batch_name(row));
}

std::string fact_name(std::string_view name, const ReadRow& row) {
    return fmt::format("{} {} seq_len {}", name, batch_name(row), row.seq_len);
}

std::filesystem::path sidecar_path(const std::filesystem::path& csv_path) {
    return std::filesystem::path(csv_path).replace_extension(".json");
}

std::string to_json(const Sidecar& sidecar) {
    Json options = Json::object();
    for (const auto& [name, value] : sidecar.options) {
        insert_once(options, name, value);
    }
    Json fitted = Json::object();
    for (const auto& [name, value] : sidecar.fitted) {
        insert_once(fitted, name, number_or_null(value));
    }
    std::string text = "{\n" + outer_member("schema", kSchema) +
                       outer_member("provenance", provenance_json(sidecar.provenance)) +
                       outer_member("options", options) + outer_member("fitted", fitted) +
                       "  \"samples\": [";
    const char* separator = "\n    ";
    for (const SampleSeries& series : sidecar.samples) {
        text += separator + dump(series_json(series), -1);
        separator = ",\n    ";
    }
    return text + (sidecar.samples.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Sidecar parse_sidecar(std::string_view text) {
    try {
        return sidecar_from_json(parse_unique(text));
    } catch (const Json::exception& error) {
        throw FileError(fmt::format("no sidecar: {}", error.what()));
    }
}

void write_sidecar(const std::filesystem::path& path, const Sidecar& sidecar) {
    write_file_atomically(path, to_json(sidecar));
}

void write_results(const std::filesystem::path& csv_path, std::span<const ReadRow> rows,
                   const Sidecar& sidecar, WriteBytes write_bytes) {
    const NewFile files[] = {{csv_path, to_csv(rows)}, {sidecar_path(csv_path), to_json(sidecar)}};
    write_files_atomically(files, write_bytes);
}

Sidecar read_sidecar(const std::filesystem::path& path) {
    const std::string text = read_file(path);
    try {
        return parse_sidecar(text);
    } catch (const FileError& error) {
        throw FileError(fmt::format("{}: {}", path.string(), error.what()));
    }
}

}  // namespace nanoserve::report
