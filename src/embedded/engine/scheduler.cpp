// engine/scheduler.cpp - workers and the thread of the host functions.
#include "embedded/engine/scheduler.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "embedded/engine/conductor.hpp"
#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/futex.hpp"
#include "embedded/engine/idle_spin.hpp"
#include "embedded/engine/successor.hpp"

namespace weir::embedded::engine {

namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__)
constexpr unsigned most_useful_workers = 4;  // it takes each fiber for a thread, and knows 8128 of them
#else
constexpr unsigned most_useful_workers = 16;
#endif

// How long all workers are busy with what they have before it is said that one is held up. Serial, where the order should not
// depend on time, nothing goes past work that ends within a longer one.
constexpr auto patience = 4ms;
constexpr auto patience_where_serial = 30ms;

}  // namespace

// The timelines that a worker ran last, still marked as listed: while the worker spins, it looks at them itself, and who
// submits to them need not list them again. Kept to a few, because each is looked at in every round.
class scheduler::hot_timelines {
 public:
  // Keeps a drained timeline; the oldest goes.
  void keep(timeline& line, scheduler& owner) noexcept {
    if (!line.mark_listed()) return;
    place& oldest = places_[oldest_++ % places_.size()];
    drop(oldest, owner);
    oldest = {&line, line.completed(), 0};
  }

  // One that has work and that nobody runs; the caller owns it. What is new is left alone for a few looks: a thread
  // that waits for it runs it itself, and faster, because the work is in its own cache.
  [[nodiscard]] timeline* own_one() noexcept {
    for (place& p : places_) {
      if (p.line == nullptr || p.line->drained()) continue;
      const std::uint64_t completed = p.line->completed();
      if (std::exchange(p.completed, completed) != completed) p.looks = 0;
      if (++p.looks < looks_before_taking || !p.line->try_own()) continue;
      p.line->clear_listed();
      return std::exchange(p.line, nullptr);
    }
    return nullptr;
  }

  // Leaves them to whoever comes; those that have got work are listed for the others.
  void drop_all(scheduler& owner) noexcept {
    for (place& p : places_) drop(p, owner);
  }

 private:
  static constexpr int looks_before_taking = 12;  // some 12 us

  struct place {
    timeline* line = nullptr;
    std::uint64_t completed = 0;  // when it was looked at last
    int looks = 0;                // since then, with work and without progress
  };

  static void drop(place& from, scheduler& owner) noexcept {
    if (timeline* line = std::exchange(from.line, nullptr); line != nullptr && line->mark_unlisted()) owner.list(*line);
  }

  std::array<place, 4> places_{};
  unsigned oldest_ = 0;
};

scheduler::scheduler()
    : most_workers_{std::clamp(std::thread::hardware_concurrency(), 1u, most_useful_workers)}, slice_{256} {}

scheduler& scheduler::instance() noexcept {
  static auto* const instance = new scheduler;
  return *instance;
}

void scheduler::configure(schedule how) {
  schedule_ = how;
  if (how.kind == schedule_kind::parallel) return;
  slice_ = 1;
  if (how.kind == schedule_kind::serial) {
    most_workers_ = 1;
  } else {
    conductor_ = std::make_unique<conductor>(how);
  }
}

void scheduler::submitted(timeline& line) noexcept { conductor_->submitted(line); }
void scheduler::conduct(point until, on_failure then) noexcept { conductor_->conduct(until, then); }
stepped scheduler::step_for(point until) noexcept { return conductor_->step_for(until); }

void scheduler::list(timeline& line) noexcept {
  ready_.push(line);
  call_a_worker();
}

// There is something in the list of those that are ready.
void scheduler::call_a_worker() noexcept {
  switch (workers_.added(most_workers_ + reserve_.size())) {
    case wake_up::action::none: return;
    case wake_up::action::wake: workers_.wake(); return;
    case wake_up::action::start: start_worker(); return;
    case wake_up::action::busy: watch_workers(); return;
  }
}

void scheduler::start_worker() noexcept {
  const need of_it = reserve_.size() == 0 ? need::it_has_to_be : need::it_may_be;
  if (start_driver_thread(
          "weir-worker", [this] { work(); }, of_it))
    return;
  workers_.not_started();
  watch_workers();  // which tries again
}

// All workers are busy, and there is more to do: sees to it that somebody looks after a while whether they still are.
void scheduler::watch_workers() noexcept {
  if (watched_.load() != 0 || watched_.exchange(1) != 0) return;
  if (watch_started_.exchange(true)) {
    futex_wake(watched_, 1);
  } else {
    start_driver_thread("weir-watch", [this] { keep_watching(); });
  }
}

void scheduler::keep_watching() noexcept {
  const auto period = schedule_.kind == schedule_kind::serial ? patience_where_serial : patience;
  for (;;) {
    while (watched_.load() == 0) futex_wait(watched_, 0);
    std::uint64_t finds = workers_.finds();
    do {
      std::this_thread::sleep_for(period);
      const bool held_up = std::exchange(finds, workers_.finds()) == finds && workers_.all_are_busy();
      if (!held_up || ready_.empty()) continue;
      reserve_.call_one();
      call_a_worker();
    } while (!ready_.empty());
    watched_.store(0);
    if (!ready_.empty()) watched_.store(1);  // added in the meantime
  }
}

// A timeline to run, owned; null where there is none. The worker no longer counts as searching when it has one.
timeline* scheduler::take(hot_timelines& hot) noexcept {
  timeline* line = hot.own_one();
  while (line == nullptr) {
    line = ready_.pop();
    if (line == nullptr) return nullptr;
    line->clear_listed();
    if (!line->try_own()) line = nullptr;  // somebody else has run it, or it was parked
  }
  workers_.found();
  if (!ready_.empty()) call_a_worker();
  return line;
}

void scheduler::sleep() noexcept {
  workers_.gives_up();
  if (!ready_.empty() || joint_.has_open()) call_a_worker();
  workers_.sleep();
}

void scheduler::offer(joint_work& work) noexcept {
  joint_.add(work);
  call_a_worker();
}

// Takes part in what another thread runs, if there is something; others may then come, too.
bool scheduler::take_part(hot_timelines& hot) noexcept {
  joint_work* const work = joint_.enter();
  if (work == nullptr) return false;
  workers_.found();
  hot.drop_all(*this);
  call_a_worker();
  work->take_part();
  joint_work_list::leave(*work);
  return true;
}

// Runs a timeline and then those that it lets go on, one after the other. The last one, if it ended drained.
timeline* scheduler::run_chain(timeline& first) noexcept {
  constexpr int longest_chain = 64;  // then the others that are ready have their turn
  successor& next = successor::of_this_thread();
  timeline* line = &first;
  for (int links = 0;; ++links) {
    if (links == longest_chain) next.keep_none();
    const stop why = line->run(runner::worker, line->completed() + slice_);
    timeline* const after = next.take();
    if (after == nullptr || !after->try_own()) {
      if (after != nullptr) after->announce();
      return why == stop::drained ? line : nullptr;
    }
    line = after;
  }
}

void scheduler::work() noexcept {
  hot_timelines hot;
  idle_spin idle;
  for (;;) {
    const std::uint32_t calls = reserve_.calls();
    timeline* drained = nullptr;
    if (timeline* line = take(hot)) {
      hot.drop_all(*this);
      if (schedule_.kind == schedule_kind::parallel) successor::of_this_thread().keep_any();
      drained = run_chain(*line);
    } else if (!take_part(hot)) {
      if (!idle.once_more()) {
        hot.drop_all(*this);
        sleep();
        idle.reset();
      }
      continue;
    }
    if (reserve_.replaces(calls)) {
      workers_.ends();
      return;
    }
    workers_.finished();
    if (drained != nullptr) hot.keep(*drained, *this);
    idle.reset();
  }
}

void scheduler::give_to_host_thread(timeline& line) noexcept { give(line, host_thread_); }
void scheduler::give_to_long_thread(timeline& line) noexcept { give(line, long_threads_); }

void scheduler::give(timeline& line, receivers& to) noexcept {
  to.lines.push(line);
  call(to);
}

void scheduler::call(receivers& one) noexcept {
  const wake_up::action next = one.threads.added(one.most);
  if (next == wake_up::action::wake) {
    one.threads.wake();
  } else if (next == wake_up::action::start) {
    start_driver_thread(one.name, [&one] { instance().run_given(one); });
  }
}

void scheduler::run_given(receivers& as) noexcept {
  idle_spin idle;
  for (;;) {
    if (timeline* line = as.lines.pop()) {
      as.threads.found();
      if (!as.lines.empty()) call(as);
      line->own_parked();
      if (stepping()) conductor_->left_to_others().begins(*line, as.where);
      line->run(as.as, line->completed() + slice_);
      if (stepping()) conductor_->left_to_others().has_run(*line, as.where);
      as.threads.finished();
      idle.reset();
    } else if (!idle.once_more()) {
      as.threads.gives_up();
      if (!as.lines.empty()) call(as);
      as.threads.sleep();
      idle.reset();
    }
  }
}

}  // namespace weir::embedded::engine
