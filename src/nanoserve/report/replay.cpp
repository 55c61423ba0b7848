// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/bench/read_comparison.hpp>
#include <nanoserve/model/dtype.hpp>
#include <nanoserve/report/number_text.hpp>
#include <nanoserve/report/record.hpp>
#include <nanoserve/report/replay.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace nanoserve::report {
namespace {

constexpr const char* kNoValue = "–";

using SeriesKey = std::pair<std::string, std::int64_t>;  // name and seq_len

SeriesKey key_of(const ReadRow& row) {
    return {series_name(row), row.seq_len};
}

std::string key_text(const SeriesKey& key) {
    return fmt::format("{}, {} tokens", key.first, key.second);
}

std::string row_name(const ReadRow& row) {
    return key_text(key_of(row));
}

// The series of `read` in the cell of `row`; nullptr when there is none.
const SampleSeries* find_series(const Sidecar& sidecar, ReadRow row, const std::string& read) {
    row.read = read;
    const auto found = std::ranges::find_if(
        sidecar.samples, [&, name = series_name(row)](const SampleSeries& series) {
            return series.read == name && series.seq_len == row.seq_len;
        });
    return found == sidecar.samples.end() ? nullptr : &*found;
}

const SampleSeries& series_of(const Sidecar& sidecar, const ReadRow& row) {
    const SampleSeries* series = find_series(sidecar, row, row.read);
    if (series == nullptr) {
        throw RecordError(fmt::format("the sidecar has no samples of {}", row_name(row)));
    }
    return *series;
}

// A time too short for a double of microseconds is none.
std::optional<double> to_us(std::optional<double> ns) {
    return ns && *ns / 1e3 > 0 ? std::optional(*ns / 1e3) : std::nullopt;
}

// What the sidecar says of the row's cell, or nothing.
std::optional<double> find_fact(const Sidecar& sidecar, std::string_view name, const ReadRow& row) {
    const auto found = std::ranges::find(sidecar.fitted, fact_name(name, row),
                                         &std::pair<std::string, std::optional<double>>::first);
    return found == sidecar.fitted.end() ? std::nullopt : found->second;
}

// What one read of the row's cell has to load. A ragged batch has more or fewer tokens than its
// seq_len says, so a record names the bytes. The sizes are a file's, so their product may be
// anything: exact below 2^53, never an overflow.
double kv_bytes_of(const ReadRow& row, const Sidecar& sidecar) {
    if (const auto kv_bytes = find_fact(sidecar, "kv_bytes", row)) {
        return *kv_bytes;
    }
    try {
        return 2.0 * static_cast<double>(row.num_seqs) * static_cast<double>(row.seq_len) *
               static_cast<double>(row.num_kv_heads) * static_cast<double>(row.head_dim) *
               static_cast<double>(bytes_of(parse_dtype(row.dtype)));
    } catch (const std::invalid_argument& error) {
        throw RecordError(fmt::format("{}: {}", row_name(row), error.what()));
    }
}

void set_times(ReadRow& row, const ReadTiming& timing, double kv_bytes) {
    row.best_us = to_us(timing.best_ns());
    row.mean_us = to_us(timing.mean_ns());
    row.median_us = to_us(timing.median_ns());
    row.lo_us = to_us(timing.low_ns());
    row.hi_us = to_us(timing.high_ns());
    const auto best_ns = timing.best_ns();
    row.gb_per_s = best_ns ? std::optional(kv_bytes / *best_ns) : std::nullopt;  // bytes per ns
}

// The series of the baseline in the row's cell; nullptr when there is none.
const SampleSeries* find_baseline(std::span<const ReadRow> rows, const Sidecar& sidecar,
                                  const ReadRow& row) {
    const std::string cell = fact_name("", row);
    for (const ReadRow& other : rows) {
        if (other.seq_len == row.seq_len && fact_name("", other) == cell) {
            const SampleSeries& series = series_of(sidecar, other);
            if (series.role == "baseline") {
                return &series;
            }
        }
    }
    return nullptr;
}

// A candidate against the baseline of its cell, pair by pair.
void set_comparison(ReadRow& row, const SampleSeries& candidate, const SampleSeries* baseline) {
    row.speedup.reset();
    row.verdict.clear();
    if (baseline != nullptr) {
        const std::size_t num_pairs = baseline->samples_ns.size();
        if (candidate.samples_ns.size() != num_pairs) {
            throw RecordError(fmt::format("{}: {} samples and {} of {}; each needs its partner",
                                          row_name(row), candidate.samples_ns.size(), num_pairs,
                                          baseline->read));
        }
        const ReadComparison comparison(baseline->samples_ns, candidate.samples_ns, 1);
        row.speedup = comparison.speedup();
        row.verdict = nanoserve::to_string(comparison.verdict());
    }
}

// --- the record against its samples

std::string value_text(std::optional<double> value) {
    return value ? exact_text(*value) : "empty";
}

[[noreturn]] void throw_difference(const ReadRow& row, std::string_view column,
                                   const std::string& recorded, const std::string& recomputed) {
    throw RecordError(fmt::format("{}: {} is {} in the record, its samples say {}", row_name(row),
                                  column, recorded, recomputed));
}

void require_same_row(const ReadRow& recorded, const ReadRow& recomputed, std::size_t num_samples) {
    for (const ReadRowColumn& column : read_row_columns()) {
        if (const auto* member = std::get_if<std::optional<double> ReadRow::*>(&column.member);
            member != nullptr &&
            !is_same_figure(recorded.**member, recomputed.**member, num_samples) &&
            *member != &ReadRow::predicted_us && *member != &ReadRow::rel_err) {
            throw_difference(recorded, column.name, value_text(recorded.**member),
                             value_text(recomputed.**member));
        }
    }
    if (recorded.verdict != recomputed.verdict) {
        throw_difference(recorded, "verdict", '"' + recorded.verdict + '"',
                         '"' + recomputed.verdict + '"');
    }
}

// --- the record against its sidecar

void require_a_row_for_each_series(std::span<const ReadRow> rows, const Sidecar& sidecar) {
    std::set<SeriesKey> of_rows;
    for (const ReadRow& row : rows) {
        if (!of_rows.insert(key_of(row)).second) {
            throw RecordError(fmt::format("{}: there are two such rows", row_name(row)));
        }
    }
    std::set<SeriesKey> seen;
    for (const SampleSeries& series : sidecar.samples) {
        const SeriesKey key{series.read, series.seq_len};
        if (!seen.insert(key).second) {
            throw RecordError(fmt::format("{}: the sidecar has two series", key_text(key)));
        }
        if (!of_rows.contains(key)) {
            throw RecordError(
                fmt::format("the record has no row for the samples of {}", key_text(key)));
        }
    }
}

void require_label(const ReadRow& row, const char* column, const std::string& recorded,
                   const std::string& should) {
    if (recorded != should) {
        throw RecordError(fmt::format("{}: {} is \"{}\" in the record, \"{}\" in its sidecar",
                                      row_name(row), column, recorded, should));
    }
}

// The cache state of the whole run or, by the bytes of the row's cell, of the row. Nothing where
// the sidecar tells neither.
std::optional<std::string> find_cache(const Sidecar& sidecar, const ReadRow& row) {
    const auto of_run =
        std::ranges::find(sidecar.options, "cache", &std::pair<std::string, std::string>::first);
    if (of_run != sidecar.options.end()) {
        return of_run->second;
    }
    const auto num_layers = find_fact(sidecar, "layers", row);
    const auto kv_bytes = find_fact(sidecar, "kv_bytes", row);
    const auto l2_bytes = find_fact(sidecar, "l2_bytes", row);
    return num_layers && kv_bytes && l2_bytes
               ? std::optional(std::string(cache_state(*num_layers * *kv_bytes, *l2_bytes)))
               : std::nullopt;
}

// --- the table

std::string time_text(std::optional<double> us) {
    return us ? duration_text(*us) : kNoValue;
}

std::string share_text(const ReadRow& row) {
    return row.best_us && row.floor_us ? digits_text(100 * *row.floor_us / *row.best_us) + " %"
                                       : kNoValue;
}

std::string interval_text(const ReadRow& row) {
    return row.lo_us && row.hi_us
               ? fmt::format("{} to {}", duration_text(*row.lo_us), duration_text(*row.hi_us))
               : kNoValue;
}

std::string own_share(const ReadRow& row, std::span<const ReadRow> own) {
    const auto found = std::ranges::find_if(own, [&](const ReadRow& mine) {
        return mine.read == "streaming" && mine.seq_len == row.seq_len;
    });
    return found == own.end() ? kNoValue : share_text(*found);
}

std::string line_of(std::string_view history, std::string_view read, std::string_view best,
                    std::string_view median, std::string_view interval, std::string_view share,
                    std::string_view own) {
    return fmt::format("{:>7}  {:<13} {:>8} {:>8} {:>20} {:>8}  {:>8}\n", history, read, best,
                       median, interval, share, own);
}

std::string heading_of(const ReadRow& row, std::span<const ReadRow> own) {
    return fmt::format("\n{}/{}/{}, {} sequence{}: {}, {}; own machine: {}\n", row.num_q_heads,
                       row.num_kv_heads, row.head_dim, row.num_seqs, row.num_seqs == 1 ? "" : "s",
                       row.machine, row.dtype,
                       own.empty()
                           ? "not measured"
                           : fmt::format("{}, {}", own.front().machine, own.front().dtype)) +
           line_of("history", "read", "best", "median", "5 % to 95 %", "share", "own");
}

bool same_batch(const ReadRow& a, const ReadRow& b) {
    return a.num_q_heads == b.num_q_heads && a.num_kv_heads == b.num_kv_heads &&
           a.head_dim == b.head_dim && a.num_seqs == b.num_seqs;
}

}  // namespace

void require_whole_record(std::span<const ReadRow> rows, const Sidecar& sidecar) {
    if (rows.empty()) {
        throw RecordError("the record has no rows");
    }
    require_a_row_for_each_series(rows, sidecar);
    const std::string machine = machine_name(sidecar.provenance);
    for (const ReadRow& row : rows) {
        require_label(row, "machine", row.machine, machine);
        if (const auto cache = find_cache(sidecar, row)) {
            require_label(row, "cache", row.cache, *cache);
        }
    }
}

std::vector<ReadRow> rows_from_samples(std::span<const ReadRow> rows, const Sidecar& sidecar) {
    std::vector<ReadRow> computed(rows.begin(), rows.end());
    for (ReadRow& row : computed) {
        const SampleSeries& series = series_of(sidecar, row);
        set_times(row, ReadTiming(series.samples_ns), kv_bytes_of(row, sidecar));
        const SampleSeries* ceiling = find_series(sidecar, row, "load_only_nhd");
        row.floor_us = ceiling ? to_us(ReadTiming(ceiling->samples_ns).best_ns()) : std::nullopt;
        set_comparison(row, series,
                       series.role == "candidate" ? find_baseline(rows, sidecar, row) : nullptr);
    }
    return computed;
}

void require_same_rows(std::span<const ReadRow> recorded, std::span<const ReadRow> recomputed,
                       const Sidecar& sidecar) {
    for (std::size_t i = 0; i < recorded.size(); ++i) {
        require_same_row(recorded[i], recomputed[i],
                         series_of(sidecar, recorded[i]).samples_ns.size());
    }
}

std::string format_replay(std::span<const ReadRow> rows, std::span<const ReadRow> own) {
    std::string text;
    const ReadRow* before = nullptr;
    for (const ReadRow& row : rows) {
        text += before == nullptr || !same_batch(*before, row) ? heading_of(row, own) : "";
        before = &row;
        text += line_of(std::to_string(row.seq_len), row.read, time_text(row.best_us),
                        time_text(row.median_us), interval_text(row), share_text(row),
                        own_share(row, own));
    }
    return text;
}

}  // namespace nanoserve::report
