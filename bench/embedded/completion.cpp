// SPDX-License-Identifier: Apache-2.0
// embedded/completion.cpp - the time in which the embedded driver notifies a program that work is
// done.
#include "completion/detached.hpp"
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"
#include "peers/host_wakers.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr int batches = 200;
constexpr int batch = 1000;

// For work that is done before the query.
double measure_done() {
  const weir::stream stream{weir::device{}};
  weir::pinned_buffer<int> memory{1};
  weir::fill(stream, memory, 1);
  const weir::completion done = stream.completion();
  done.wait();
  return fastest(batches, batch, [&] {
    for (int i = 0; i < batch; ++i) done.wait();
  });
}

// For a stream whose work is done.
double measure_sync_wait() {
  const weir::stream stream{weir::device{}};
  stream.sync();
  return fastest(batches, batch, [&] {
    for (int i = 0; i < batch; ++i) weir::sync_wait(stream.completion());
  });
}

// Kernels of 10 us that record their end time. Each is queued as soon as the program has noticed
// the end of the previous one. So only two threads are busy: the one that runs kernels, and the one
// that is notified.
class chain {
 public:
  static constexpr int rounds = 4000;

  // Call it before each wait, and once after the last.
  void queue() { weir::launch(stream, {}, last_, 10'000LL, ended_.data()); }
  void record() {
    const long long now = clock::now().time_since_epoch().count();
    times_.push_back(static_cast<double>(now - ended_[0]) / 1000);
  }
  [[nodiscard]] const std::vector<double>& microseconds() const { return times_; }

  const weir::device device;
  const weir::stream stream{device};

 private:
  const weir::kernel last_ = weir::module::load(device, WEIR_BENCH_KERNELS).kernel("last");
  weir::pinned_buffer<long long> ended_{1};
  std::vector<double> times_;
};

// Wait: called with the completion to wait for.
template <class Wait>
weir::task<> run_through(chain& all, Wait wait) {
  for (int round = 0; round < chain::rounds; ++round) {
    all.queue();
    co_await wait();
    all.record();
  }
}

detached start(weir::task<> what, std::atomic<bool>& finished) {
  co_await std::move(what);
  finished.store(true);
  finished.notify_one();
}

std::vector<double> resumed_by_reactor() {
  chain all;
  std::atomic<bool> finished{false};
  start(run_through(all, [&] { return all.stream.completion(); }), finished);
  finished.wait(false);
  return all.microseconds();
}

std::vector<double> resumed_by_poll() {
  chain all;
  std::atomic<bool> finished{false};
  weir::completion_poller poller{all.device};
  start(run_through(all, [&] { return all.stream.completion(); }), finished);
  while (!finished.load()) poller.poll();
  return all.microseconds();
}

std::vector<double> resumed_by_sync_wait() {
  chain all;
  weir::sync_wait(run_through(all, [&] { return all.stream.completion(); }));
  return all.microseconds();
}

template <class Waker>
std::vector<double> resumed_by_waker() {
  chain all;
  std::atomic<bool> finished{false};
  resume_threads thread;
  const auto wait = [&] { return Waker(all.stream.get(), thread); };
  start(run_through(all, wait), finished);
  finished.wait(false);
  return all.microseconds();
}

template <class Wait>
std::vector<double> waited_for(Wait wait) {
  chain all;
  for (int round = 0; round < chain::rounds; ++round) {
    all.queue();
    wait(all.stream);
    all.record();
  }
  return all.microseconds();
}

std::vector<double> waited_for_completion() {
  return waited_for([](const weir::stream& stream) { stream.completion().wait(); });
}
std::vector<double> synchronized() {
  return waited_for(
      [](const weir::stream& stream) { ok(raw().cuStreamSynchronize(stream.get())); });
}

const registration done{{.name = "embedded/completion/done",
                         .unit = "ns a wait",
                         .runs_on = driver_filter::embedded,
                         .measure = measure_done}};
const registration sync_waits{{.name = "embedded/completion/stream_done",
                               .unit = "ns a sync_wait",
                               .budget = 50,
                               .runs_on = driver_filter::embedded,
                               .measure = measure_sync_wait}};
struct reported_method {
  const char* name;
  std::vector<double> (*measure)();
  double budget = no_budget;
};
constexpr reported_method reported_methods[] = {{"reactor", resumed_by_reactor, 1},
                                                {"poll", resumed_by_poll},
                                                {"sync_wait", resumed_by_sync_wait},
                                                {"wait", waited_for_completion},
                                                {"stream_sync", synchronized},
                                                {"host_function", resumed_by_waker<host_waker>},
                                                {"callback", resumed_by_waker<callback_waker>}};

const std::vector<registration> ends = [] {
  std::vector<registration> all;
  for (const reported_method& each : reported_methods) {
    const auto times = std::make_shared<std::vector<double>>();
    const auto add = [&](const char* suffix, const char* unit, double part, double budget) {
      all.emplace_back(figure{.name = std::string{"embedded/completion/"} + each.name + suffix,
                              .unit = unit,
                              .budget = budget,
                              .runs_on = driver_filter::embedded,
                              .measure = [=, measure = each.measure] {
                                if (times->empty()) *times = measure();
                                return quantile(*times, part);
                              }});
    };
    add("", "us, median", 0.5, each.budget);
    add("/p99", "us, 99 of 100", 0.99, no_budget);
  }
  return all;
}();

}  // namespace
}  // namespace bench
