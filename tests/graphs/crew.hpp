// graphs/crew.hpp - the host threads of a sequence: one acts at a time, or all at once.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace weir::graphs {

inline constexpr unsigned thread_count = 3;

class crew {
 public:
  using act = std::function<void()>;

  // Each thread does `first` before anything else.
  explicit crew(const act& first) {
    for (seat& s : seats_) s.thread = std::thread{[&s] { sit(s); }};
    for (unsigned i = 0; i < thread_count; ++i) run(i, first);
  }
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew() {
    for (seat& s : seats_) tell(s, state::ending);
    for (seat& s : seats_) s.thread.join();
  }

  // Both return when all is done. An act does not throw.
  void run(unsigned thread, const act& what) {
    begin(seats_[thread], what);
    finish(seats_[thread]);
  }
  void run_all(const std::array<act, thread_count>& what) {
    for (unsigned i = 0; i < thread_count; ++i) begin(seats_[i], what[i]);
    for (seat& s : seats_) finish(s);
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
  static void begin(seat& s, const act& what) {
    s.what = &what;
    tell(s, state::asked);
  }
  static void finish(seat& s) { s.now.wait(state::asked, std::memory_order_acquire); }
  static void sit(seat& mine) {
    for (;;) {
      mine.now.wait(state::idle, std::memory_order_acquire);
      if (mine.now.load(std::memory_order_acquire) == state::ending) return;
      (*mine.what)();
      tell(mine, state::idle);
    }
  }

  std::array<seat, thread_count> seats_;
};

}  // namespace weir::graphs
