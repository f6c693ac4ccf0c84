// completion_launchers.cpp - what does a thread that launches kernels lose beside a reactor that asks the driver?
#include "completion/detached.hpp"
#include "completion/held_streams.hpp"
#include "os/spin_lock.hpp"
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weir/completion/completion.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

// Who asks meanwhile whether the work of other streams is done.
enum class asking { nobody, reactor, query_loop, only_spins };
// Calls through weir are seen by the reactor; those that other libraries make are not, nor are those of a table that was asked
// for once: raw() is seen. Where they are announced the reactor knows of them.
enum class launching { through_weir, past_weir, announced };

// Keeps two streams busy with work that overlaps by half, so that there is always a completion pending, and the reactor,
// for which such waits are short, spins. The same work is queued, and its completions are made, where nobody asks.
class background {
 public:
  // Memory and code are had before anything runs: a driver may wait with its lock held until nothing does.
  explicit background(std::chrono::microseconds of_work) : half_{of_work / 2} {
    pending_for_long_.hold(0);
    ok(raw().cuEventRecord(asked_, pending_for_long_.streams()[0].get()));
    thread_ = std::thread{[this] { run(); }};
    queries_ = std::thread{[this] { query(); }};
  }
  background(const background&) = delete;
  background& operator=(const background&) = delete;
  ~background() {
    ends_ = true;
    thread_.join();
    queries_.join();
  }

  // Returns when it is so.
  void let(asking who) {
    who_ = who;
    const int then = rounds_.load() + 10;  // what was asked for before has ended
    while (rounds_.load() < then) std::this_thread::yield();
  }

 private:
  detached note_end(weir::completion what) {
    co_await std::move(what);  // as in co_await stream.completion(), which asks the driver nothing
    pending_.fetch_sub(1);
  }

  void run() {
    const weir::context_scope current{weir::device{}};
    for (std::size_t i = 0; !ends_; i = 1 - i) {
      held_.hold(i);
      const weir::completion end = held_.streams()[i].completion();
      if (who_ == asking::reactor) {
        pending_.fetch_add(1);
        note_end(end);
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

  // Without a pause, of an event that stays pending; or looks at the clock and nothing else.
  void query() {
    const weir::context_scope current{weir::device{}};
    const auto& table = raw();
    while (!ends_) {
      if (who_ == asking::query_loop) {
        static_cast<void>(table.cuEventQuery(asked_));
      } else if (who_ == asking::only_spins) {
        weir::detail::pause();
        static_cast<void>(clock::now());
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    }
  }

  std::chrono::microseconds half_;
  held_streams held_{2};
  held_streams pending_for_long_{1};
  raw_event asked_;
  std::atomic<bool> ends_{false};
  std::atomic<asking> who_{asking::nobody};
  std::atomic<int> rounds_{0};
  std::atomic<int> pending_{0};
  std::thread thread_;
  std::thread queries_;
};

constexpr const char* source = R"(extern "C" __global__ void nothing() {})";

// Percent of the launches that a thread makes a second where nobody asks. They take turns; of each, the median of
// many runs.
struct losses {
  double beside_reactor;
  double beside_query_loop;
  double beside_spinning;
  double past_weir;  // beside the reactor
  double announced;  // likewise, the reactor being told
};

losses measure(std::chrono::microseconds of_work) {
  constexpr int rounds = 60;
  constexpr int launches = 2000;  // some 6 ms: that somebody launches is seen after 0.05
  const weir::device gpu;
  const weir::stream stream{gpu};
  // Stays loaded: see held_streams.cpp.
  static const weir::kernel nothing = weir::program{source}.compile(gpu).kernel("nothing");
  weir::launch(stream, {}, nothing);
  stream.sync();
  background others{of_work};
  const auto time_of = [&](launching how, asking who) {
    others.let(who);
    const auto& table = raw();
    const double time = time_once([&] {
      for (int i = 0; i < launches; ++i) {
        if (how == launching::through_weir) {
          weir::launch(stream, {}, nothing);
        } else {
          ok(table.cuLaunchKernel(nothing.get(), 1, 1, 1, 1, 1, 1, 0, stream.get(), nullptr, nullptr));
        }
      }
    });
    stream.sync();
    return time;
  };
  std::map<std::pair<launching, asking>, std::vector<double>> times;
  for (int round = 0; round < rounds; ++round) {
    for (const auto who : {asking::nobody, asking::reactor, asking::query_loop, asking::only_spins})
      times[{launching::through_weir, who}].push_back(time_of(launching::through_weir, who));
    for (const auto who : {asking::nobody, asking::reactor})
      times[{launching::past_weir, who}].push_back(time_of(launching::past_weir, who));
    const weir::calls_past_weir said;
    times[{launching::announced, asking::reactor}].push_back(time_of(launching::past_weir, asking::reactor));
  }
  const auto loss = [&](launching how, asking who) {
    const auto alone = how == launching::through_weir ? how : launching::past_weir;
    return (1 - median(times[{alone, asking::nobody}]) / median(times[{how, who}])) * 100;
  };
  return {.beside_reactor = loss(launching::through_weir, asking::reactor),
          .beside_query_loop = loss(launching::through_weir, asking::query_loop),
          .beside_spinning = loss(launching::through_weir, asking::only_spins),
          .past_weir = loss(launching::past_weir, asking::reactor),
          .announced = loss(launching::announced, asking::reactor)};
}

const losses& measured(std::chrono::microseconds of_work) {
  static std::map<std::chrono::microseconds, losses> known;
  if (const auto found = known.find(of_work); found != known.end()) return found->second;
  return known.emplace(of_work, measure(of_work)).first->second;
}

void add_figures(std::vector<registration>& to, const std::string& name, std::chrono::microseconds of_work) {
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name,
                         .unit = "% of launches a second",
                         .budget = 3,
                         .runs_on = on::gpu,
                         .measure = [=] { return measured(of_work).beside_reactor; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/query",
                         .unit = "% beside a query loop",
                         .runs_on = on::gpu,
                         .measure = [=] { return measured(of_work).beside_query_loop; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/spinning",
                         .unit = "% beside a thread that only spins",
                         .runs_on = on::gpu,
                         .measure = [=] { return measured(of_work).beside_spinning; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/past_weir",
                         .unit = "% of launches a second past weir",
                         .budget = 3,
                         .runs_on = on::gpu,
                         .measure = [=] { return measured(of_work).past_weir; }});
  to.emplace_back(figure{.name = "completion/launchers_lose/" + name + "/announced",
                         .unit = "% of launches past weir that are announced",
                         .budget = 3,
                         .runs_on = on::gpu,
                         .measure = [=] { return measured(of_work).announced; }});
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
