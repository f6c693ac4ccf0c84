// SPDX-License-Identifier: Apache-2.0
// completion_idle.cpp - the processor use of a program that awaits long work, or has awaited some.
#include "completion/detached.hpp"
#include "harness/figure.hpp"
#include "harness/timing.hpp"

#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <weir/completion/completion.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr int waits = 20;
constexpr std::chrono::milliseconds length{50};
constexpr std::chrono::milliseconds settle_time{300};
constexpr std::chrono::seconds measure_time{1};

detached count_end(weir::completion what, std::atomic<int>& ended) {
  co_await what;
  ended.fetch_add(1);
  ended.notify_one();
}

// A host function that sleeps blocks a stream for 50 ms, repeatedly, so only the reactor would have
// to poll for its end.
void await_long_work() {
  const weir::stream stream{weir::device{}};
  std::atomic<int> ended{0};
  for (int i = 0; i < waits; ++i) {
    weir::launch_host(stream, [] { std::this_thread::sleep_for(length); });
    count_end(stream.completion(), ended);
    ended.wait(i);
  }
}

// Equal work without a waiter: the host function itself reports the end.
void run_long_work() {
  const weir::stream stream{weir::device{}};
  std::atomic<int> ended{0};
  for (int i = 0; i < waits; ++i) {
    weir::launch_host(stream, [&] {
      std::this_thread::sleep_for(length);
      ended.fetch_add(1);
      ended.notify_one();
    });
    ended.wait(i);
  }
  stream.sync();
}

// Returns percent of one processor.
template <class Work>
double processor_share(const Work& work) {
  const auto used = processor_clock::now();
  const double time = time_once(work);
  return std::chrono::duration<double, std::nano>{processor_clock::now() - used}.count() / time *
         100;
}

struct long_waits {
  double unawaited;
  double awaited;
};

// Measures the second run: when waits are long, the fault monitor starts once, which takes 10 to 20
// ms of processor time.
const long_waits& measured() {
  static const long_waits known = [] {
    run_long_work();
    await_long_work();
    const double unawaited = processor_share(run_long_work);
    return long_waits{unawaited, processor_share(await_long_work)};
  }();
  return known;
}

double measure_idle() {
  std::this_thread::sleep_for(settle_time);
  return processor_share([] { std::this_thread::sleep_for(measure_time); });
}

// A GPU's driver has its own threads, which wake occasionally once there is a context.
double measure_unawaited_idle() {
  run_long_work();
  return measure_idle();
}

double measure_afterwards() {
  const double unawaited = measure_unawaited_idle();
  await_long_work();
  return measure_idle() - unawaited;
}

// A fault must be reported within a millisecond. A thread that polls for one must wake that often;
// this is the cost if it does nothing else.
double measure_sleeps() {
  static constexpr std::chrono::microseconds each{800};
  return processor_share([] {
    prctl(PR_SET_TIMERSLACK, 1'000);
    for (const auto until = clock::now() + measure_time; clock::now() < until;)
      std::this_thread::sleep_for(each);
    prctl(PR_SET_TIMERSLACK, 0);  // restores the default
  });
}

const registration sleeps{{.name = "completion/long_wait/sleeps",
                           .unit = "% for sleeps of 0.8 ms",
                           .runs_on = driver_filter::gpu,
                           .measure = measure_sleeps}};
const registration long_wait{
    {.name = "completion/long_wait", .unit = "% of a processor", .budget = 1, .measure = [] {
       return measured().awaited - measured().unawaited;
     }}};
const registration unawaited{{.name = "completion/long_wait/unawaited",
                              .unit = "% more for the work itself",
                              .measure = [] { return measured().unawaited; }}};
const registration afterwards{{.name = "completion/afterwards",
                               .unit = "% of a processor",
                               .budget = 0.1,
                               .alone = true,
                               .measure = measure_afterwards}};
const registration unawaited_rest{{.name = "completion/afterwards/unawaited",
                                   .unit = "% of a processor with the driver alone",
                                   .alone = true,
                                   .measure = measure_unawaited_idle}};

}  // namespace
}  // namespace bench
