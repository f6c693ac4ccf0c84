// SPDX-License-Identifier: Apache-2.0
// schedule_order.cpp - prints the order in which the operations of five streams ran; same_order.sh
// compares runs. Each stream waits for values that its neighbour writes, and some operations take
// long.
// usage: weir_schedule_order [MILLISECONDS of processor time for the long operations]
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/table.hpp"

using namespace weir::embedded;
using engine::timeline;

namespace {

long milliseconds_run() noexcept {
  timespec run{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &run);
  return 1000 * run.tv_sec + run.tv_nsec / 1'000'000;
}

struct note {
  std::vector<int>* order;
  int number;

  long takes = 0;  // milliseconds of processor time

  // No other operation may be scheduled during a long one.
  void run() const noexcept {
    const long until = milliseconds_run() + takes;
    while (milliseconds_run() < until) {
    }
    order->push_back(number);
  }
};

using word = std::atomic<std::uint32_t>;

struct wait_for {
  const word* at;
  std::uint32_t value;

  [[nodiscard]] bool run() const noexcept { return at->load() >= value; }
};

struct put {
  word* at;
  std::uint32_t value;

  void run() const noexcept {
    at->store(value);
    engine::notify_written_ordered(at, sizeof *at);
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (table().cuInit(0) != weir::abi::CUDA_SUCCESS) return EXIT_FAILURE;
  constexpr std::size_t streams = 5;
  constexpr std::uint32_t rounds = 12;
  const long slow = count > 1 ? std::strtol(arguments[1], nullptr, 10) : 7;
  std::vector<int> order;
  std::vector<timeline*> lines;
  static std::array<word, streams> words{};
  for (std::size_t i = 0; i < streams; ++i) lines.push_back(&timeline::acquire());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < streams; ++i) {
      const word& of_neighbour = words[(i + 1) % streams];
      timeline::submission pending{*lines[i]};
      pending.add(engine::make_operation(wait_for{&of_neighbour, round / 4},
                                         engine::operation_kind::wait_value));
      // Every second operation runs on its own thread.
      const auto kind =
          round % 2 == 0 ? engine::operation_kind::work : engine::operation_kind::long_work;
      pending.add(engine::make_operation(
          note{&order, static_cast<int>(10 * round + i), round % 4 == 3 ? slow : 0}, kind));
      pending.add(engine::make_operation(put{&words[i], round}));
    }
  }
  for (timeline* line : lines) engine::wait(line->submitted_point());
  for (const int number : order) std::printf("%d ", number);
  std::printf("\n");
  for (timeline* line : lines) line->release_when_drained();
  return order.size() == streams * rounds ? EXIT_SUCCESS : EXIT_FAILURE;
}
