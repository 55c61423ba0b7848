// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/report/read_row.hpp>

namespace nanoserve::report {

std::span<const ReadRowColumn> read_row_columns() {
    static const ReadRowColumn kColumns[] = {
        {"machine", &ReadRow::machine},
        {"read", &ReadRow::read},
        {"dtype", &ReadRow::dtype},
        {"threads", &ReadRow::threads},
        {"cache", &ReadRow::cache},
        {"num_q_heads", &ReadRow::num_q_heads},
        {"num_kv_heads", &ReadRow::num_kv_heads},
        {"head_dim", &ReadRow::head_dim},
        {"num_seqs", &ReadRow::num_seqs},
        {"seq_len", &ReadRow::seq_len},
        {"pattern", &ReadRow::pattern},
        {"block_size", &ReadRow::block_size},
        {"layout", &ReadRow::layout},
        {"best_us", &ReadRow::best_us},
        {"mean_us", &ReadRow::mean_us},
        {"median_us", &ReadRow::median_us},
        {"lo_us", &ReadRow::lo_us},
        {"hi_us", &ReadRow::hi_us},
        {"floor_us", &ReadRow::floor_us},
        {"predicted_us", &ReadRow::predicted_us},
        {"gb_per_s", &ReadRow::gb_per_s},
        {"rel_err", &ReadRow::rel_err},
        {"speedup", &ReadRow::speedup},
        {"verdict", &ReadRow::verdict},
    };
    return kColumns;
}

std::string_view cache_state(double rotated_bytes, double l2_bytes) {
    return rotated_bytes >= 4 * l2_bytes ? "cold" : "warm";
}

}  // namespace nanoserve::report
