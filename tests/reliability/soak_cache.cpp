// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
// soak_cache [--operations N] [--pool-mib M] [--seed S] [--record FILE]: writers and readers share
// one large cache as the library says they may: writes under the caller's lock, reads beside each
// other. Readers look at tokens and have two reads agree in every bit; writers look at what they
// wrote, and every hundredth of the way all of the cache is held against a model. Memory must stay
// flat. Exit status: 0 no fault; 1 a fault.
#include "reliability/cache_model.hpp"

#include <nanoserve/attention/gather_read.hpp>
#include <nanoserve/attention/paged_attention_reference.hpp>
#include <nanoserve/model/require.hpp>
#include <nanoserve/report/sidecar.hpp>

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <sstream>
#include <thread>

using namespace nanoserve;
using namespace nanoserve::testing;

namespace {

constexpr std::int64_t kMaxSeqs = 64;
constexpr std::int64_t kMaxTokens = 32768;  // of one sequence
constexpr int kMaxPrefill = 256;
constexpr int kNumWriters = 2;
constexpr int kNumReaders = 2;
constexpr AttentionShape kShape = {.num_q_heads = 32, .num_kv_heads = 8, .head_dim = 64};
constexpr std::int32_t kBlockSize = 16;
constexpr DType kDType = DType::bf16;

// The value of a line "Name:  12345 kB" of a file below /proc, in bytes; 0 where there is none.
std::int64_t proc_bytes(const char* path, const std::string& name) {
    std::ifstream file(path);
    std::int64_t kilobytes = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name + ":")) {
            std::istringstream(line.substr(name.size() + 1)) >> kilobytes;
        }
    }
    return kilobytes * 1024;
}

KVLayout layout_of(std::int64_t pool_mib) {
    constexpr std::int64_t kBlockBytes = kShape.kv_bytes(kBlockSize, kDType);
    return nhd_layout({.dtype = kDType,
                       .num_blocks = static_cast<std::int32_t>((pool_mib << 20) / kBlockBytes),
                       .block_size = kBlockSize,
                       .num_kv_heads = kShape.num_kv_heads,
                       .head_dim = kShape.head_dim});
}

// A sanitizer keeps freed memory from being used again: its growth says nothing of the cache.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsHeldBack = true;
#else
constexpr bool kMemoryIsHeldBack = false;
#endif

// What tables and model can still take once the scratch memory of all reads is there: numbers of
// tokens, names and ids in vectors that have at most twice the room they need, and a node of a map
// for each block.
std::int64_t growth_allowed(const KVLayout& layout) {
    constexpr std::int64_t kMaxBlocks = kMaxTokens / kBlockSize;
    constexpr std::int64_t kNode = 64;
    return kMaxSeqs * 2 * (kMaxTokens * 4 + kMaxBlocks * (8 + 4)) + layout.num_blocks * kNode;
}

struct Counts {
    std::atomic<std::int64_t> operations = 0, tokens_written = 0, refused = 0, forks = 0, frees = 0,
                              tokens_checked = 0, reads = 0;
};

class Soak {
  public:
    Soak(std::int64_t pool_mib, std::int64_t num_operations, std::uint32_t seed)
        : num_operations_(num_operations),
          cache_(1, layout_of(pool_mib)),
          model_(1, cache_.layout()),
          random_(seed),
          seed_(seed) {}

    // Returns the first fault, or nothing.
    std::optional<std::string> run() {
        std::vector<std::jthread> threads;
        for (int i = 0; i < kNumReaders; ++i) {
            threads.emplace_back(
                [this, i] { read_until_done(seed_ + 1 + static_cast<std::uint32_t>(i)); });
        }
        std::vector<std::jthread> writers;
        for (int i = 0; i < kNumWriters; ++i) {
            writers.emplace_back([this] { write_until_done(); });
        }
        writers.clear();
        done_ = true;
        threads.clear();
        if (!fault_) {
            look_at_memory();
            free_all();
        }
        return fault_;
    }

    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] std::int64_t pool_bytes() const {
        return kShape.kv_bytes(std::int64_t{cache_.layout().num_blocks} * kBlockSize, kDType);
    }
    [[nodiscard]] std::int64_t resident_first_half() const { return resident_first_half_; }
    [[nodiscard]] std::int64_t resident_second_half() const { return resident_second_half_; }
    [[nodiscard]] std::int64_t num_used_at_most() const { return num_used_at_most_; }

  private:
    void blame(const std::string& fault) {
        const std::lock_guard lock(fault_mutex_);
        if (!fault_) {
            fault_ = fault;
        }
        done_ = true;
    }

    // ---- Writers: all they do is under the lock, so the walk is that of the seed.

    void write_until_done() {
        while (!done_) {
            const std::unique_lock lock(cache_mutex_);
            if (counts_.operations >= num_operations_) {
                return;
            }
            step();
            ++counts_.operations;
            num_used_at_most_ = std::max<std::int64_t>(num_used_at_most_, cache_.pool().num_used());
            if (cache_.pool().num_free() != model_.num_free()) {
                blame(join_text(cache_.pool().num_free(), " blocks are free, not ",
                                model_.num_free()));
            }
            if (counts_.operations % std::max<std::int64_t>(1, num_operations_ / 100) == 0) {
                look_at_everything();
            }
        }
    }

    void step() {
        const bool room = std::ssize(model_.sequences()) < kMaxSeqs;
        const int choice = pick(2000);
        if (model_.sequences().empty() || (room && choice < 40)) {
            model_.add(cache_.add_sequence());
        } else if (room && choice < 60) {
            const SeqId parent = pick_seq(random_);
            model_.fork(parent, cache_.fork(parent));
            ++counts_.forks;
        } else if (choice == 60) {
            free(pick_seq(random_));
        } else {
            write(pick_seq(random_), choice < 220 ? 1 + pick(kMaxPrefill) : 1);
        }
    }

    void write(SeqId seq, std::int64_t num_tokens) {
        if (cache_.seq_len(seq) + num_tokens > kMaxTokens) {
            return free(seq);
        }
        const auto k = token_rows(cache_.layout(), next_token_, num_tokens, true, 0);
        const auto v = token_rows(cache_.layout(), next_token_, num_tokens, false, 0);
        const bool fits = model_.blocks_wanted(seq, 0, num_tokens) <= model_.num_free();
        const WriteResult result = cache_.prefill(seq, 0, {k.data(), v.data(), num_tokens});
        if (result.ok() != fits) {
            blame(to_string(result) + ", which the model did not expect");
        }
        if (!fits) {
            ++counts_.refused;
            return free(pick_seq(random_));
        }
        model_.write(seq, 0, num_tokens, next_token_);
        next_token_ += static_cast<std::uint32_t>(num_tokens);
        counts_.tokens_written += num_tokens;
        look_at_token(seq, std::ssize(model_.sequences().at(seq).tokens[0]) - 1);
    }

    void free(SeqId seq) {
        cache_.free(seq);
        model_.free(seq);
        ++counts_.frees;
    }

    void free_all() {
        while (!model_.sequences().empty()) {
            free(model_.sequences().begin()->first);
        }
        if (const auto fault = fault_of_cache(cache_, model_)) {
            blame(*fault);
        }
    }

    void look_at_everything() {
        if (const auto fault = fault_of_cache(cache_, model_, 16)) {
            blame(*fault);
        }
        const std::int64_t resident = proc_bytes("/proc/self/status", "VmRSS");
        std::int64_t& half = counts_.operations * 2 <= num_operations_ ? resident_first_half_
                                                                       : resident_second_half_;
        half = std::max(half, resident);
    }

    void look_at_memory() {
        if (kMemoryIsHeldBack) {
            return;
        }
        const std::int64_t growth = resident_second_half_ - resident_first_half_;
        if (growth > growth_allowed(cache_.layout())) {
            blame(join_text("memory grew by ", growth, " bytes in the second half; tables explain ",
                            growth_allowed(cache_.layout())));
        }
    }

    // ---- Readers

    void read_until_done(std::uint32_t seed) {
        std::mt19937 random(seed);
        ReadContext context;
        reserve_scratch(context);
        while (!done_) {
            const auto start = std::chrono::steady_clock::now();
            look_around(random, context);
            // A lock that lets readers in first would keep writers out for good.
            std::this_thread::sleep_for(2 * (std::chrono::steady_clock::now() - start));
        }
    }

    void look_around(std::mt19937& random, ReadContext& context) {
        const std::shared_lock lock(cache_mutex_);
        if (!model_.sequences().empty()) {
            const SeqId seq = pick_seq(random);
            look_at_random_tokens(seq, random);
            compare_reads(seq, context);
        }
    }

    void look_at_random_tokens(SeqId seq, std::mt19937& random) {
        const std::int64_t len = std::ssize(model_.sequences().at(seq).tokens[0]);
        for (int i = 0; len > 0 && i < 16; ++i) {
            look_at_token(seq, std::uniform_int_distribution<std::int64_t>(0, len - 1)(random));
        }
    }

    void look_at_token(SeqId seq, std::int64_t t) {
        const PagedKVView view = cache_.view();
        const BlockId block = cache_.block_table(seq)[static_cast<std::size_t>(t / kBlockSize)];
        const std::uint32_t token =
            model_.sequences().at(seq).tokens[0][static_cast<std::size_t>(t)];
        for (const std::int64_t head : {0, kShape.num_kv_heads - 1}) {
            const Bf16* k = view.k_row<Bf16>(block, t % kBlockSize, head);
            const Bf16* v = view.v_row<Bf16>(block, t % kBlockSize, head);
            for (std::int64_t d = 0; d < kShape.head_dim; ++d) {
                if (to_float(k[d]) != token_element(token, true, 0, head, d) ||
                    to_float(v[d]) != token_element(token, false, 0, head, d)) {
                    return blame(join_text("token ", t, " of sequence ",
                                           static_cast<std::int64_t>(seq), ", head ", head,
                                           ", is not what was written"));
                }
            }
        }
        ++counts_.tokens_checked;
    }

    // Gather and fused, with the caller's own context, over the cache as it is now.
    void compare_reads(SeqId seq, ReadContext& context) {
        const auto tables = cache_.batch({&seq, 1});
        const std::vector<float> gathered = output_of(gather_read, tables, context);
        if (output_of(paged_attention_reference, tables, context) != gathered) {
            blame(join_text("two reads of sequence ", static_cast<std::int64_t>(seq), " differ"));
        }
        ++counts_.reads;
    }

    std::vector<float> output_of(void (*read)(const PagedAttentionParams&, ReadContext&),
                                 const BlockTables& tables, ReadContext& context) const {
        constexpr auto kElements = static_cast<std::size_t>(kShape.num_q_heads * kShape.head_dim);
        static const std::vector<float> q(kElements, 0x1p-12f);
        std::vector<float> out(kElements, -1.0f);
        PagedAttentionParams params = {.q = q.data(),
                                       .out = out.data(),
                                       .num_q_heads = kShape.num_q_heads,
                                       .kv = cache_.view()};
        set_block_tables(params, tables);
        read(params, context);
        return out;
    }

    // The longest history there can be, all of it block 0: from now on reads allocate no scratch.
    void reserve_scratch(ReadContext& context) const {
        const BlockTables longest = {
            .block_tables = std::vector<BlockId>(kMaxTokens / kBlockSize, 0),
            .seq_lens = {kMaxTokens},
            .max_blocks_per_seq = kMaxTokens / kBlockSize};
        const std::shared_lock lock(cache_mutex_);
        (void)output_of(gather_read, longest, context);
    }

    int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

    SeqId pick_seq(std::mt19937& random) const {
        auto entry = model_.sequences().begin();
        std::advance(entry, std::uniform_int_distribution<std::int64_t>(
                                0, std::ssize(model_.sequences()) - 1)(random));
        return entry->first;
    }

    std::int64_t num_operations_;
    mutable std::shared_mutex cache_mutex_;  // of everything down to next_token_
    PagedKVCache cache_;
    CacheModel model_;
    std::mt19937 random_;
    std::uint32_t next_token_ = 1;

    std::uint32_t seed_;
    std::atomic<bool> done_ = false;
    std::mutex fault_mutex_;
    std::optional<std::string> fault_;
    Counts counts_;
    std::int64_t resident_first_half_ = 0, resident_second_half_ = 0, num_used_at_most_ = 0;
};

// As much of the wish as leaves the machine half of its memory.
std::int64_t pool_that_fits(std::int64_t wish_mib) {
    const std::int64_t available_mib = proc_bytes("/proc/meminfo", "MemAvailable") >> 20;
    return std::max<std::int64_t>(1, std::min(wish_mib, available_mib / 2));
}

void record(const std::string& path, const Soak& soak, std::uint32_t seed, double seconds) {
    const Counts& counts = soak.counts();
    const auto number = [](std::int64_t count) { return static_cast<double>(count); };
    report::write_sidecar(
        path,
        {.provenance = report::collect_provenance(to_string(default_instruction_set())),
         .options = {{"program", "soak_cache"},
                     {"seed", join_text(seed)},
                     {"writers", join_text(kNumWriters)},
                     {"readers", join_text(kNumReaders)},
                     {"max_seqs", join_text(kMaxSeqs)},
                     {"pool_bytes", join_text(soak.pool_bytes())}},
         .fitted = {{"operations", number(counts.operations)},
                    {"tokens_written", number(counts.tokens_written)},
                    {"writes_refused", number(counts.refused)},
                    {"forks", number(counts.forks)},
                    {"frees", number(counts.frees)},
                    {"tokens_checked_by_look", number(counts.tokens_checked)},
                    {"pairs_of_reads_compared", number(counts.reads)},
                    {"blocks_used_at_most", number(soak.num_used_at_most())},
                    {"seconds", seconds},
                    {"resident_bytes_first_half", number(soak.resident_first_half())},
                    {"resident_bytes_second_half", number(soak.resident_second_half())},
                    {"peak_resident_bytes", number(proc_bytes("/proc/self/status", "VmHWM"))}},
         .samples = {}});
}

}  // namespace

int main(int argc, char** argv) {
    std::int64_t num_operations = 1'000'000;
    std::int64_t pool_mib = 1024;
    std::uint32_t seed = 1;
    std::string path;
    CLI::App app("Writers and readers share one large cache.");
    app.add_option("--operations", num_operations, "of all writers")->check(CLI::PositiveNumber);
    app.add_option("--pool-mib", pool_mib, "K and V together")->check(CLI::PositiveNumber);
    app.add_option("--seed", seed, "of the writers; readers take the next ones");
    app.add_option("--record", path, "a JSON file for the figures");
    CLI11_PARSE(app, argc, argv);
    const auto start = std::chrono::steady_clock::now();
    Soak soak(pool_that_fits(pool_mib), num_operations, seed);
    if (const auto fault = soak.run()) {
        std::cout << "seed " << seed << ", after " << soak.counts().operations
                  << " operations: " << *fault << '\n';
        return 1;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (!path.empty()) {
        record(path, soak, seed, seconds.count());
    }
    const Counts& counts = soak.counts();
    std::cout << "soak_cache: " << counts.operations << " operations from seed " << seed << ", "
              << counts.tokens_written << " tokens written, " << counts.refused
              << " writes refused, " << counts.reads << " pairs of reads compared, resident "
              << (soak.resident_first_half() >> 20) << " then "
              << (soak.resident_second_half() >> 20) << " MiB, no fault\n";
}
