// SPDX-License-Identifier: Apache-2.0
// completion_launchers.cpp - the slowdown of a thread that launches kernels while a reactor polls
// the driver.
#include "completion/detached.hpp"
#include "completion/held_streams.hpp"
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"
#include "os/spin_lock.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

// The activity that polls meanwhile for the completion of other streams.
enum class poller_kind { none, reactor, query_loop, spin_only };
// The reactor sees calls through weir. It does not see calls of other libraries, or calls through a
// table that was obtained once; calls through raw() are seen. Announced calls are known to the
// reactor.
enum class launch_path { through_weir, directly, announced };

// Keeps two streams busy with work that overlaps by half, so that a completion is always pending.
// These waits are short, so the reactor spins. Without a poller, equal work is queued and equal
// completions are created.
class background {
 public:
  // Memory and code are obtained before any work runs: a driver may wait, with its lock held, until
  // no work does.
  explicit background(std::chrono::microseconds work_time) : half_{work_time / 2} {
    always_pending_.hold(0);
    ok(raw().cuEventRecord(pending_event_, always_pending_.streams()[0].get()));
    thread_ = std::thread{[this] { run(); }};
    queries_ = std::thread{[this] { query(); }};
  }
  background(const background&) = delete;
  background& operator=(const background&) = delete;
  ~background() {
    stopping_ = true;
    thread_.join();
    queries_.join();
  }

  // Returns once the poller is in effect.
  void set_poller(poller_kind poller) {
    poller_ = poller;
    const int then = rounds_.load() + 10;  // the previous poller has ended
    while (rounds_.load() < then) std::this_thread::yield();
  }

 private:
  detached record_end(weir::completion what) {
    // as in co_await stream.completion(), which does not query the driver
    co_await std::move(what);
    pending_.fetch_sub(1);
  }

  void run() {
    const weir::context_scope current{weir::device{}};
    for (std::size_t i = 0; !stopping_; i = 1 - i) {
      held_.hold(i);
      const weir::completion end = held_.streams()[i].completion();
      if (poller_ == poller_kind::reactor) {
        pending_.fetch_add(1);
        record_end(end);
      }
      const auto until = clock::now() + half_;
      while (clock::now() < until) {
      }
      held_.release(1 - i);
      rounds_.fetch_add(1);
    }
    held_.release(0);
    held_.release(1);
    while (pending_.load() != 0) std::this_thread::yield();
  }

  // Polls without a pause, either an event that stays pending, or only the clock.
  void query() {
    const weir::context_scope current{weir::device{}};
    const auto& table = raw();
    while (!stopping_) {
      if (poller_ == poller_kind::query_loop) {
        static_cast<void>(table.cuEventQuery(pending_event_));
      } else if (poller_ == poller_kind::spin_only) {
        weir::os::pause();
        static_cast<void>(clock::now());
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    }
  }

  std::chrono::microseconds half_;
  held_streams held_{2};
  held_streams always_pending_{1};
  raw_event pending_event_;
  std::atomic<bool> stopping_{false};
  std::atomic<poller_kind> poller_{poller_kind::none};
  std::atomic<int> rounds_{0};
  std::atomic<int> pending_{0};
  std::thread thread_;
  std::thread queries_;
};

constexpr const char* source = R"(extern "C" __global__ void nothing() {})";

// The loss in launches per second of a thread, in percent of the rate without a poller. The pollers
// alternate; each figure is the median of many runs.
struct loss_figures {
  double beside_reactor;
  double beside_query_loop;
  double beside_spinning;
  double directly;   // beside the reactor
  double announced;  // likewise, announced to the reactor
};

loss_figures measure(std::chrono::microseconds work_time) {
  constexpr int rounds = 60;
  constexpr int launches = 2000;  // about 6 ms: launches are detected after 0.05 ms
  const weir::device gpu;
  const weir::stream stream{gpu};
  // Never unloaded: see held_streams.cpp.
  static const weir::kernel nothing = weir::program{source}.compile(gpu).kernel("nothing");
  weir::launch(stream, {}, nothing);
  stream.sync();
  background background_load{work_time};
  const auto time_of = [&](launch_path how, poller_kind poller) {
    background_load.set_poller(poller);
    const auto& table = raw();
    const double time = time_once([&] {
      for (int i = 0; i < launches; ++i) {
        if (how == launch_path::through_weir) {
          weir::launch(stream, {}, nothing);
        } else {
          ok(table.cuLaunchKernel(nothing.get(), 1, 1, 1, 1, 1, 1, 0, stream.get(), nullptr,
                                  nullptr));
        }
      }
    });
    stream.sync();
    return time;
  };
  std::map<std::pair<launch_path, poller_kind>, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round) {
    for (const auto poller :
         {poller_kind::none, poller_kind::reactor, poller_kind::query_loop, poller_kind::spin_only})
      times[{launch_path::through_weir, poller}].push_back(
          time_of(launch_path::through_weir, poller));
    for (const auto poller : {poller_kind::none, poller_kind::reactor})
      times[{launch_path::directly, poller}].push_back(time_of(launch_path::directly, poller));
    const weir::expect_external_launches expected;
    times[{launch_path::announced, poller_kind::reactor}].push_back(
        time_of(launch_path::directly, poller_kind::reactor));
  }
  const auto loss = [&](launch_path how, poller_kind poller) {
    const auto alone = how == launch_path::through_weir ? how : launch_path::directly;
    return (1 - median(times[{alone, poller_kind::none}]) / median(times[{how, poller}])) * 100;
  };
  return {.beside_reactor = loss(launch_path::through_weir, poller_kind::reactor),
          .beside_query_loop = loss(launch_path::through_weir, poller_kind::query_loop),
          .beside_spinning = loss(launch_path::through_weir, poller_kind::spin_only),
          .directly = loss(launch_path::directly, poller_kind::reactor),
          .announced = loss(launch_path::announced, poller_kind::reactor)};
}

const loss_figures& measured(std::chrono::microseconds work_time) {
  static std::map<std::chrono::microseconds, loss_figures> known;
  if (const auto found = known.find(work_time); found != known.end()) return found->second;
  return known.emplace(work_time, measure(work_time)).first->second;
}

void add_figures(std::vector<registration>& to, const std::string& name,
                 std::chrono::microseconds work_time) {
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name,
                         .unit = "% of launches a second",
                         .budget = 3,
                         .runs_on = driver_filter::gpu,
                         .measure = [=] { return measured(work_time).beside_reactor; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/query",
                         .unit = "% beside a query loop",
                         .runs_on = driver_filter::gpu,
                         .measure = [=] { return measured(work_time).beside_query_loop; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/spinning",
                         .unit = "% beside a thread that only spins",
                         .runs_on = driver_filter::gpu,
                         .measure = [=] { return measured(work_time).beside_spinning; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/past_weir",
                         .unit = "% of launches a second past weir",
                         .budget = 3,
                         .runs_on = driver_filter::gpu,
                         .measure = [=] { return measured(work_time).directly; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/announced",
                         .unit = "% of launches past weir that are announced",
                         .budget = 3,
                         .runs_on = driver_filter::gpu,
                         .measure = [=] { return measured(work_time).announced; }});
}

const std::vector<registration> figures = [] {
  using namespace std::chrono_literals;
  std::vector<registration> made;
  add_figures(made, "100us", 100us);
  add_figures(made, "1ms", 1ms);
  return made;
}();

}  // namespace
}  // namespace bench
