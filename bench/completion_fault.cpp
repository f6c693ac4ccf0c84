// SPDX-License-Identifier: Apache-2.0
// completion_fault.cpp - the time until every waiter is notified that a kernel has failed.
#include "completion/detached.hpp"
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/event/event.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr int streams = 4;
constexpr int awaits_in_each = 250;
constexpr int long_wait_count = 60;
constexpr std::chrono::milliseconds length{50};

constexpr const char* source = R"(
extern "C" __global__ void store(int* x) { *x = 1; }
)";

struct tally {
  std::atomic<int> completed{0};
  std::atomic<int> failed{0};
  std::atomic<long long> last{0};
};

detached await(weir::completion what, tally& of) {
  const weir::errc outcome = co_await what.outcome();
  if (outcome == weir::errc::illegal_address) of.failed.fetch_add(1);
  of.last.store(clock::now().time_since_epoch().count());
  of.completed.fetch_add(1);
}

// Work that takes long enough that a waiter which polls for it sleeps between polls.
void hold_for(const weir::stream& stream, std::chrono::milliseconds time) {
  weir::launch_host(stream, [time] { std::this_thread::sleep_for(time); });
}

// Finally a kernel writes to an invalid address. A loop that queries the driver without a pause
// detects it first.
double measure_fault(int long_waits) {
  weir::set_unhandled_error_handler(
      [](std::exception_ptr) noexcept {});  // errors that follow from the lost context are expected
  const weir::device gpu;
  const weir::kernel store = weir::program{source}.compile(gpu).kernel("store");
  std::array<weir::stream, streams> all{weir::stream{gpu}, weir::stream{gpu}, weir::stream{gpu},
                                        weir::stream{gpu}};
  const weir::stream& bad = all.front();
  const weir::pinned_buffer<int> good{1};  // freeing it would wait for the work that fails
  weir::launch(bad, weir::grid(1, 1), store,
               good.data());  // excludes the cost of the first launch
  bad.sync();
  for (int i = 0; i < long_waits; ++i) {
    hold_for(bad, length);
    tally first_tally;
    await(bad.completion(), first_tally);
    while (first_tally.completed.load() == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  hold_for(bad, 4 * length);  // until all are created
  weir::launch(bad, weir::grid(1, 1), store, static_cast<int*>(nullptr));
  const weir::event mark = bad.record();
  for (const weir::stream& other : all) {
    if (&other != &bad) other.wait(mark);
  }
  tally answers;
  for (const weir::stream& each : all) {
    for (int i = 0; i < awaits_in_each; ++i) await(each.completion(), answers);
  }
  while (raw().cuEventQuery(mark.get()) == weir::abi::CUDA_ERROR_NOT_READY) {
  }
  const long long seen = clock::now().time_since_epoch().count();
  while (answers.completed.load() != streams * awaits_in_each) std::this_thread::yield();
  if (answers.failed.load() != streams * awaits_in_each)
    throw std::runtime_error{"some were told otherwise"};
  return static_cast<double>(answers.last.load() - seen) / 1000;
}

// After a period of long waits the fault monitor reports faults; before that, the reactor polls for
// them.
const registration at_first{{.name = "completion/fault/at_first",
                             .unit = "us later than a loop that asks, all of 1000",
                             .budget = 1000,
                             .alone = true,
                             .measure = [] { return measure_fault(0); }}};
const registration fault{{.name = "completion/fault",
                          .unit = "us later than a loop that asks, all of 1000",
                          .budget = 1000,
                          .alone = true,
                          .measure = [] { return measure_fault(long_wait_count); }}};

}  // namespace
}  // namespace bench
