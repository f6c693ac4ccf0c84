// SPDX-License-Identifier: Apache-2.0
// completion_cost.cpp - the cost of a completion, for the caller and for the stream.
#include "completion/detached.hpp"
#include "completion/held_streams.hpp"
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>
#include <weir/completion/completion.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

// Small enough that no driver makes the caller wait for space in a blocked stream's queue, which
// has some 1000 entries.
constexpr int batch = 200;

class held_stream {
 public:
  held_stream() { hold(); }
  [[nodiscard]] const weir::stream& operator*() const { return held_.streams()[0]; }
  [[nodiscard]] const weir::stream* operator->() const { return &held_.streams()[0]; }
  void hold() {
    held_.hold(0);
    while (!held_.has_started(0)) {
    }
  }
  void release_and_sync() {
    held_.release(0);
    (**this).sync();
  }

 private:
  held_streams held_{1};
};

double measure_cost() {
  constexpr int batches = 200;
  held_stream stream;
  return fastest(
      batches, batch,
      [&] {
        for (int i = 0; i < batch; ++i) static_cast<void>(stream->completion());
      },
      [&] {
        stream.release_and_sync();
        stream.hold();
      });
}

double measure_beside_record() {
  constexpr std::size_t rounds = 300;
  held_stream stream;
  const std::vector<raw_event> events(batch);  // a completion has one of its own, too
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (const raw_event& event : events) ok(table.cuEventRecord(event, stream->get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) static_cast<void>(stream->completion());
      },
      [&] {
        stream.release_and_sync();
        stream.hold();
      });
}

detached await_repeatedly(weir::completion what) {
  for (int i = 0; i < batch; ++i) co_await what;
}

double measure_await_done() {
  constexpr int batches = 2000;
  const weir::stream stream{weir::device{}};
  const weir::completion done = stream.completion();
  done.wait();
  return fastest(batches, batch, [&] { await_repeatedly(done); });
}

detached count_end(weir::completion what, std::atomic<int>& ended) {
  co_await what;
  ended.fetch_add(1);
}

// Compares a series of small memsets with and without a completion behind each, all of them
// awaited. Returns the extra time that the stream takes for one, by the device's clock.
double measure_stream_time() {
  constexpr int rounds = 150;
  held_stream stream;
  weir::pinned_buffer<unsigned> word{1};
  const auto microseconds = [&](bool with_completions) {
    std::atomic<int> ended{0};
    const weir::timed_event begin = stream->record_timed();
    for (int i = 0; i < batch; ++i) {
      weir::fill(*stream, word, 0u);
      if (with_completions) count_end(stream->completion(), ended);
    }
    const weir::timed_event end = stream->record_timed();
    stream.release_and_sync();
    while (with_completions && ended.load() != batch) std::this_thread::yield();
    stream.hold();
    return weir::elapsed(begin, end) * 1000.0 / batch;
  };
  std::vector<double> added;
  for (int round = 0; round < rounds; ++round) {
    const bool without_first = round % 2 == 0;
    const double first = microseconds(!without_first);
    const double second = microseconds(without_first);
    added.push_back(without_first ? second - first : first - second);
  }
  return median(std::move(added));
}

const registration cost{{.name = "completion/cost",
                         .unit = "ns",
                         .budget = 350,
                         .budget_on = driver_filter::gpu,
                         .measure = measure_cost}};
const registration beside_record{{.name = "completion/cost/record",
                                  .unit = "x cuEventRecord",
                                  .measure = measure_beside_record}};
const registration await_done{
    {.name = "completion/await_done", .unit = "ns an await", .measure = measure_await_done}};
const registration stream_time{{.name = "completion/stream_time",
                                .unit = "us added to the stream",
                                .budget = 0.05,
                                .budget_on = driver_filter::gpu,
                                .measure = measure_stream_time}};

}  // namespace
}  // namespace bench
