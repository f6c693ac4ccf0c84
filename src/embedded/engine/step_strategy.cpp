// SPDX-License-Identifier: Apache-2.0
// embedded/engine/step_strategy.cpp - draws the decisions of a deterministic schedule.
#include "embedded/engine/step_strategy.hpp"

#include <cstddef>
#include <iterator>
#include <limits>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

namespace {

// The finalizer of the generator SplitMix64.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// The four kinds take turns under schedule_kind::explore.
constexpr schedule_kind explored_kinds[] = {schedule_kind::random, schedule_kind::late,
                                            schedule_kind::early, schedule_kind::priority};

// The parameters of a kind for a row of seeds. Distances are mean numbers of steps; 0: never.
struct parameters {
  bool runs_in_submissions;       // random
  std::uint64_t other_distance;   // late, early
  std::uint64_t change_distance;  // priority
  bool program_is_last;           // priority
};
constexpr parameters rows[] = {{true, 0, 0, false},    {false, 8, 0, true},  {true, 64, 64, false},
                               {false, 16, 8, false},  {true, 0, 0, false},  {false, 8, 16, true},
                               {true, 64, 256, false}, {false, 16, 4, false}};

// Priorities below this value are those of timelines that were changed.
constexpr std::uint64_t lowest_drawn_priority = std::uint64_t{1} << 32;

}  // namespace

step_strategy::step_strategy(schedule config) noexcept
    : schedule_{config},
      generator_{mix(config.seed + 1)},
      lowest_priority_{lowest_drawn_priority - 1} {
  std::uint64_t row = config.seed;
  if (config.kind == schedule_kind::explore) {
    constexpr std::size_t kinds = std::size(explored_kinds);
    schedule_.kind = explored_kinds[config.seed % kinds];
    row /= kinds;  // so that the seeds of each kind have different parameters
  }
  const parameters& chosen = rows[row % std::size(rows)];
  const schedule_kind kind = schedule_.kind;
  runs_in_submissions_ = kind == schedule_kind::random && chosen.runs_in_submissions;
  if (kind == schedule_kind::late || kind == schedule_kind::early)
    mean_other_distance_ = chosen.other_distance;
  if (kind == schedule_kind::priority) mean_change_distance_ = chosen.change_distance;
  program_priority_ = lowest_drawn_priority | (chosen.program_is_last ? 0 : draw());
}

std::uint64_t step_strategy::draw() noexcept {
  constexpr std::uint64_t increment = 0x9e3779b97f4a7c15;
  return mix(generator_ += increment);
}

// Returns true at the points at which the priority of what runs changes.
bool step_strategy::draw_change() noexcept {
  return mean_change_distance_ != 0 && draw() % mean_change_distance_ == 0;
}

// Returns true for the steps of schedule_kind::late and early that take any timeline.
bool step_strategy::draw_other() noexcept {
  return mean_other_distance_ != 0 && draw() % mean_other_distance_ == 0;
}

unsigned step_strategy::begin_program_steps() noexcept {
  if (runs_in_submissions_) return static_cast<unsigned>(draw() % 3);
  if (schedule_.kind != schedule_kind::priority) return 0;
  if (draw_change()) program_priority_ = lowest_priority_--;
  return std::numeric_limits<unsigned>::max();
}

std::uint64_t step_strategy::lowest_rank_in_program_steps() const noexcept {
  return schedule_.kind == schedule_kind::priority ? program_priority_ : 0;
}

step_strategy::choice step_strategy::begin_wait_step() noexcept {
  return schedule_.kind != schedule_kind::late || draw_other() ? choice::any : choice::needed;
}

void step_strategy::begin_step() noexcept {
  draws_rank_ = schedule_.kind == schedule_kind::random || schedule_.kind == schedule_kind::late ||
                (schedule_.kind == schedule_kind::early && draw_other());
  if (draws_rank_) rank_draw_ = draw();
}

std::uint64_t step_strategy::rank(timeline& line) noexcept {
  if (draws_rank_) return mix(rank_draw_ + line.schedule_number);
  if (schedule_.kind == schedule_kind::early) return line.next_submission();
  if (line.priority != 0) return line.priority;
  return mix(mix(schedule_.seed) + line.schedule_number) | lowest_drawn_priority;
}

void step_strategy::on_step(timeline& line) noexcept {
  if (draw_change()) line.priority = lowest_priority_--;
}

}  // namespace weir::embedded::engine
