// SPDX-FileCopyrightText: The nanoserve authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanoserve/model/require.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace nanoserve::testing {

/// A warp for walk_ring whose copies arrive as late as they are allowed to: only when a wait
/// demands it. Notes what goes wrong instead of doing it.
class LateCopies {
  public:
    LateCopies(int num_tiles, int num_stages)
        : num_tiles_(num_tiles), stages_(static_cast<std::size_t>(num_stages)) {}

    void ask(int tile, int stage) {
        count_call();
        if (tile < 0 || tile >= num_tiles_) {
            note(beyond_, join_text("tile ", tile, " is asked for"));
            return;
        }
        if (!has_stage(stage)) {
            return;
        }
        Stage& target = stages_[static_cast<std::size_t>(stage)];
        if (target.tile && !target.used) {
            note(overwritten_, join_text("tile ", tile, " is asked for into stage ", stage,
                                         " before tile ", *target.tile, " was used"));
        }
        target = {.tile = tile, .group = closed_groups_};
        ++on_their_way_;
    }

    void close_group() {
        count_call();
        ++closed_groups_;
    }

    template <int kGroups>
    void wait_for_all_but() {
        count_call();
        const int tiles_left = num_tiles_ - static_cast<int>(used_.size());
        const int possible = std::min(tiles_left, static_cast<int>(stages_.size()));
        if (on_their_way_ < possible) {
            note(idle_, join_text(on_their_way_, " tiles are on their way at the wait for tile ",
                                  used_.size()));
        }
        const int before = arrived_groups_;
        arrived_groups_ = std::max(arrived_groups_, closed_groups_ - kGroups);
        if (arrived_groups_ > before + 1) {
            note(impatient_, join_text("the wait for tile ", used_.size(), " is for ",
                                       arrived_groups_ - before, " groups"));
        }
    }

    void use(int tile, int stage) {
        count_call();
        used_.push_back(tile);
        --on_their_way_;
        if (!has_stage(stage)) {
            return;
        }
        Stage& source = stages_[static_cast<std::size_t>(stage)];
        if (source.tile != tile) {
            note(wrong_stage_, join_text("tile ", tile, " is used from stage ", stage,
                                         ", which holds tile ", source.tile.value_or(-1)));
        } else if (source.group >= arrived_groups_) {
            note(too_early_,
                 join_text("tile ", tile, " is used while its copies are on their way"));
        }
        source.used = true;
    }

    /// The first thing of each kind that went wrong, or "none".
    [[nodiscard]] std::string beyond() const { return beyond_.value_or("none"); }
    [[nodiscard]] std::string overwritten() const { return overwritten_.value_or("none"); }
    [[nodiscard]] std::string wrong_stage() const { return wrong_stage_.value_or("none"); }
    [[nodiscard]] std::string too_early() const { return too_early_.value_or("none"); }
    [[nodiscard]] std::string idle() const { return idle_.value_or("none"); }
    [[nodiscard]] std::string impatient() const { return impatient_.value_or("none"); }

    [[nodiscard]] int num_used() const { return static_cast<int>(used_.size()); }
    /// The tiles in the order in which they were used: "0 1 2".
    [[nodiscard]] std::string used() const {
        std::string text;
        for (const int tile : used_) {
            text = join_text(text, text.empty() ? "" : " ", tile);
        }
        return text;
    }

  private:
    struct Stage {
        std::optional<int> tile = {};
        int group = 0;
        bool used = false;
    };

    static void note(std::optional<std::string>& place, const std::string& text) {
        if (!place) {
            place = text;
        }
    }
    bool has_stage(int stage) {
        const bool has = stage >= 0 && stage < static_cast<int>(stages_.size());
        if (!has) {
            note(wrong_stage_, join_text("there is no stage ", stage));
        }
        return has;
    }
    void count_call() {  // far more than any order needs
        if (++num_calls_ > 10 * (num_tiles_ + 2 * static_cast<int>(stages_.size()) + 10)) {
            throw std::runtime_error("the walk has no end");
        }
    }

    int num_tiles_;
    std::vector<Stage> stages_;
    std::vector<int> used_;
    int closed_groups_ = 0;
    int arrived_groups_ = 0;
    int on_their_way_ = 0;  // tiles that were asked for and not used
    int num_calls_ = 0;
    std::optional<std::string> beyond_, overwritten_, wrong_stage_, too_early_, idle_, impatient_;
};

}  // namespace nanoserve::testing
