// SPDX-License-Identifier: Apache-2.0
// embedded/engine/turn_based_thread.hpp - a thread that runs only when other threads let it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir::embedded::engine {

// The thread of the library above the driver, which frees what the program has destroyed. Under a
// deterministic schedule it runs in turns. The program's threads give it a turn when they wait for
// work, and continue when the turn has ended. So its driver calls take place at moments that follow
// from the program's calls. There is one such thread.
//
// Thread safety: all members may be called from any thread, except for take_turn().
class turn_based_thread {
 public:
  // Asks for a turn. Without this call, give_turn() does nothing.
  void request_turn() noexcept { requested_ = true; }

  // Called by the thread of the library: ends its turn and returns when it has got another one.
  void take_turn() noexcept;

  // Gives the thread a turn if one was requested, and returns when the turn has ended. Returns
  // earlier if the thread has run or slept for a limited time: it may run a destructor that waits
  // for a lock of the caller. The turn then continues.
  void give_turn() noexcept;

  // Returns true if the calling thread is the thread of the library.
  [[nodiscard]] static bool is_this_thread() noexcept;

 private:
  enum state : std::uint32_t { starting, waiting, running };

  [[nodiscard]] bool wait_until_over() noexcept;

  std::atomic<bool> requested_{false};
  std::atomic<bool> is_giving_{false};          // a thread is in give_turn()
  bool is_overdue_ = false;                     // the last wait timed out; used by that thread
  std::atomic<std::uint32_t> state_{starting};  // a futex word
  std::atomic<pid_t> thread_{0};                // the thread of the library
};

}  // namespace weir::embedded::engine
