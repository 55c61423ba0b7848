// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#include <nanoserve/attention/detail/stream_work.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanoserve::detail {

namespace {

// Elements of a row that do not keep their place.
std::int64_t reordered_elements(std::int64_t head_dim, ElementOrder order) {
    return order.group == 1 ? 0 : head_dim - head_dim % order.step;
}

// The rows never overlap, which lets the compiler take them in vectors.
template <class T>
void load_row(const T* __restrict row, std::int64_t head_dim, ElementOrder order,
              float* __restrict ordered) {
    const std::int64_t reordered = reordered_elements(head_dim, order);
    const std::int64_t half = order.group / 2;
    for (std::int64_t first = 0; first < reordered; first += order.group) {
        for (std::int64_t i = 0; i < half; ++i) {
            ordered[first + i] = to_float(row[first + 2 * i]);
            ordered[first + half + i] = to_float(row[first + 2 * i + 1]);
        }
    }
    for (std::int64_t i = reordered; i < head_dim; ++i) {
        ordered[i] = to_float(row[i]);
    }
}

// row[i] = factor * the element i of `ordered`.
template <class T>
void store_row(const float* __restrict ordered, float factor, std::int64_t head_dim,
               ElementOrder order, T* __restrict row) {
    const std::int64_t reordered = reordered_elements(head_dim, order);
    const std::int64_t half = order.group / 2;
    for (std::int64_t first = 0; first < reordered; first += order.group) {
        for (std::int64_t i = 0; i < half; ++i) {
            row[first + 2 * i] = from_float<T>(ordered[first + i] * factor);
            row[first + 2 * i + 1] = from_float<T>(ordered[first + half + i] * factor);
        }
    }
    for (std::int64_t i = reordered; i < head_dim; ++i) {
        row[i] = from_float<T>(ordered[i] * factor);
    }
}

}  // namespace

template <class Action>
void StreamWork::for_each_head(Action action) const {
    const std::int64_t group_size = shape_.group_size();
    const std::int64_t slots_in_group = tiles_in_group(group_size) * kStreamHeads;
    for (std::int64_t kv_head = kv_heads_.begin; kv_head < kv_heads_.end; ++kv_head) {
        for (std::int64_t i = 0; i < group_size; ++i) {
            action((kv_head - kv_heads_.begin) * slots_in_group + i, kv_head * group_size + i);
        }
    }
}

void StreamWork::begin(const AttentionShape& shape, Share kv_heads, const void* q, DType dtype,
                       const StreamScales& scales, ElementOrder order) {
    shape_ = shape;
    v_scale_ = scales.kv.v;
    kv_heads_ = kv_heads;
    order_ = order;
    const std::int64_t head_dim = shape.head_dim;
    const std::int64_t num_kv_heads = kv_heads.end - kv_heads.begin;
    const std::int64_t num_tiles = num_kv_heads * tiles_in_group(shape.group_size());
    const std::int64_t num_slots = num_tiles * kStreamHeads;
    chunks_.resize(std::max(chunks_.size(), static_cast<std::size_t>(num_tiles)));
    float* score_scale = score_scale_.reserve(num_kv_heads);
    for (std::int64_t i = 0; i < num_kv_heads; ++i) {
        score_scale[i] = scales.sm_scale * scales.kv.k.of_head(kv_heads.begin + i);
    }
    heads_ = {.num_kv_heads = num_kv_heads,
              .group_size = shape.group_size(),
              .head_dim = head_dim,
              .score_scale = score_scale,
              .q = query_slots(q, dtype, num_slots),
              .chunk = chunks_.data(),
              .max = max_.reserve(num_slots),
              .sum = sum_.reserve(num_slots),
              .out = out_.reserve(num_slots * head_dim)};
    std::fill_n(heads_.max, num_slots, -std::numeric_limits<float>::infinity());
    std::fill_n(heads_.sum, num_slots, 0.0f);
}

const float* StreamWork::query_slots(const void* q, DType dtype, std::int64_t num_slots) {
    const std::int64_t head_dim = shape_.head_dim;
    const bool has_unused_slots = shape_.group_size() % kStreamHeads != 0;
    if (dtype == DType::fp32 && order_.group == 1 && !has_unused_slots) {
        return static_cast<const float*>(q) +
               kv_heads_.begin * shape_.group_size() * head_dim;  // it is in order already
    }
    float* slots = q_.reserve(num_slots * head_dim);
    if (has_unused_slots) {
        std::fill_n(slots, num_slots * head_dim, 0.0f);
    }
    visit_io_dtype(dtype, [&]<class T>() {
        for_each_head([&](std::int64_t slot, std::int64_t q_head) {
            load_row(static_cast<const T*>(q) + q_head * head_dim, head_dim, order_,
                     slots + slot * head_dim);
        });
    });
    return slots;
}

void StreamWork::write_output(void* out, DType dtype, float* lse) const {
    const std::int64_t head_dim = heads_.head_dim;
    visit_io_dtype(dtype, [&]<class T>() {
        for_each_head([&](std::int64_t slot, std::int64_t q_head) {
            const float sum = heads_.sum[slot];
            T* target = static_cast<T*>(out) + q_head * head_dim;
            if (sum == 0.0f) {  // no token
                std::fill_n(target, head_dim, from_float<T>(0.0f));
            } else {
                const float v_scale = v_scale_.of_head(q_head / shape_.group_size());
                store_row(heads_.out + slot * head_dim, v_scale / sum, head_dim, order_, target);
            }
            if (lse != nullptr) {
                lse[q_head] = static_cast<float>(double{heads_.max[slot]} + std::log(double{sum}));
            }
        });
    });
}

}  // namespace nanoserve::detail
