// sequences/turns.hpp - several host threads that take turns: one acts at a time, and what is bound to a thread differs.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <thread>

namespace weir::sequences {

// How many threads make the calls of a sequence. Number 0 is the caller itself.
inline constexpr unsigned thread_count = 3;

class turns {
 public:
  turns();
  turns(const turns&) = delete;
  turns& operator=(const turns&) = delete;
  ~turns();

  // Runs `act` on a thread and returns when it has ended.
  void run(unsigned thread, const std::function<void()>& act);

 private:
  enum class state : int { idle, asked, ending };
  struct seat {
    std::atomic<state> now{state::idle};
    const std::function<void()>* act = nullptr;
    std::thread thread;
  };
  static void sit(seat& mine);

  std::array<seat, thread_count - 1> seats_;
};

}  // namespace weir::sequences
