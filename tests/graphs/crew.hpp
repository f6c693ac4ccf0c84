// graphs/crew.hpp - the host threads of a sequence: one acts at a time, or all at once.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::graphs {

inline constexpr unsigned thread_count = 3;

class crew {
 public:
  using act = std::function<void()>;

  // Each thread does `first` before anything else.
  explicit crew(const act& first) {
    for (seat& s : seats_) s.thread = std::thread{[this, &s] { sit(s); }};
    for (unsigned i = 0; i < thread_count; ++i) run(i, first);
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() {
    for (seat& s : seats_) tell(s, state::ending);
    for (seat& s : seats_) s.thread.join();
  }

  // Has a thread that does nothing begin with an act, which does not throw, and is there until it has ended.
  void begin(unsigned thread, const act& what) {
    {
      const std::lock_guard lock{mutex_};
      ++at_work_;
    }
    seats_[thread].what = &what;
    tell(seats_[thread], state::asked);
  }
  // Returns when all that began has ended; or after a while, and whether it has.
  void finish() {
    std::unique_lock lock{mutex_};
    ended_.wait(lock, [this] { return at_work_ == 0; });
  }
  [[nodiscard]] bool finish_within(std::chrono::milliseconds time) {
    std::unique_lock lock{mutex_};
    return ended_.wait_for(lock, time, [this] { return at_work_ == 0; });
  }
  void run(unsigned thread, const act& what) {
    begin(thread, what);
    finish();
  }

 private:
  enum class state : int { idle, asked, ending };
  struct seat {
    std::atomic<state> now{state::idle};
    const act* what = nullptr;
    std::thread thread;
  };

  static void tell(seat& s, state next) {
    s.now.store(next, std::memory_order_release);
    s.now.notify_all();
  }
  void sit(seat& mine) {
    for (;;) {
      mine.now.wait(state::idle, std::memory_order_acquire);
      if (mine.now.load(std::memory_order_acquire) == state::ending) return;
      (*mine.what)();
      mine.now.store(state::idle, std::memory_order_release);
      {
        const std::lock_guard lock{mutex_};
        --at_work_;
      }
      ended_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  unsigned at_work_ = 0;
  std::array<seat, thread_count> seats_;
};

}  // namespace weir::graphs
