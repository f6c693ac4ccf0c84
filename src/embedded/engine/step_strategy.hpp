// SPDX-License-Identifier: Apache-2.0
// embedded/engine/step_strategy.hpp - decides when a deterministic schedule runs an operation, and
// of which timeline.
#pragma once

#include <cstdint>

#include "embedded/engine/schedule.hpp"

namespace weir::embedded::engine {

class timeline;

// Draws the decisions of a deterministic schedule from its seed. A step is the run of one
// operation. Each step runs the timeline of the highest rank that has an operation to run. A
// timeline is the sequence of operations of a stream.
//
// schedule_kind::priority is probabilistic concurrency testing (Burckhardt and others, ASPLOS
// 2010). The timelines and the program have priorities. The program runs while no timeline with a
// higher priority can run. At drawn points, the one that runs gets the lowest priority. The seed
// chooses how far these points are apart on average, because the length of the run is not known.
//
// Thread safety: the caller serializes all calls.
class step_strategy {
 public:
  // Which operations a step of a waiting thread chooses from first.
  enum class choice : std::uint8_t { any, needed };

  explicit step_strategy(schedule config) noexcept;

  // Called after a submission and after a wait. Returns how many steps to make at most before the
  // program continues.
  [[nodiscard]] unsigned begin_program_steps() noexcept;
  // Returns the lowest rank of a timeline for these steps.
  [[nodiscard]] std::uint64_t lowest_rank_in_program_steps() const noexcept;

  // Returns what the next step of a waiting thread chooses from.
  [[nodiscard]] choice begin_wait_step() noexcept;

  // Draws what rank() needs for the next step.
  void begin_step() noexcept;
  // Returns the rank for the next step of a timeline that has operations and that no thread runs.
  [[nodiscard]] std::uint64_t rank(timeline& line) noexcept;

  // Called after a step of the timeline.
  void on_step(timeline& line) noexcept;

  // Returns the state of the random generator. A caller whose step found no operation to run sets
  // it back, because the number of such attempts depends on time.
  [[nodiscard]] std::uint64_t generator_state() const noexcept { return generator_; }
  void reset_generator(std::uint64_t state) noexcept { generator_ = state; }

 private:
  std::uint64_t draw() noexcept;
  bool draw_change() noexcept;
  bool draw_other() noexcept;

  schedule schedule_;
  std::uint64_t generator_;
  bool draws_rank_ = false;           // the next step takes any timeline with equal probability
  std::uint64_t rank_draw_ = 0;       // of the next step
  bool runs_in_submissions_ = false;  // of schedule_kind::random
  std::uint64_t program_priority_ = 0;
  std::uint64_t lowest_priority_;  // the next lower priority to give
  // The mean number of submissions and steps between changes of priorities; 0: no changes.
  std::uint64_t mean_change_distance_ = 0;
  // The mean number of steps of schedule_kind::late and early between those that take any timeline;
  // 0: none does.
  std::uint64_t mean_other_distance_ = 0;
};

}  // namespace weir::embedded::engine
