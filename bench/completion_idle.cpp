// completion_idle.cpp - does a program that awaits long work use the processor meanwhile, or one
// that has awaited some?
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

// A stream is held for 50 ms, again and again, by a host function that sleeps: who would have to
// look for the end of that is the reactor alone.
void await_long_work() {
  const weir::stream stream{weir::device{}};
  std::atomic<int> ended{0};
  for (int i = 0; i < waits; ++i) {
    weir::launch_host(stream, [] { std::this_thread::sleep_for(length); });
    count_end(stream.completion(), ended);
    ended.wait(i);
  }
}

// The same work, whose end nobody looks for: the host function tells of it itself.
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

// Percent of one processor.
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

// The second time: where waits are long a watch for faults is begun once, which takes 10 to 20 ms
// of a processor.
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

// A GPU's driver has threads of its own, which wake now and then once there is a context.
double measure_unawaited_idle() {
  run_long_work();
  return measure_idle();
}

double measure_afterwards() {
  const double unawaited = measure_unawaited_idle();
  await_long_work();
  return measure_idle() - unawaited;
}

// A fault is to be told within a millisecond: whoever looks for one by himself has to wake up that
// often, and this is what that costs if he does nothing else.
double measure_sleeps() {
  static constexpr std::chrono::microseconds each{800};
  return processor_share([] {
    prctl(PR_SET_TIMERSLACK, 1'000);
    for (const auto until = clock::now() + measure_time; clock::now() < until;)
      std::this_thread::sleep_for(each);
    prctl(PR_SET_TIMERSLACK, 0);  // as it was
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
