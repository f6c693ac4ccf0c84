// reactor/fault_watch.hpp - wakes a reactor when its device has a fault.
#pragma once

#include "driver/fault_reports.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace weir::detail {

// A fault is to be told within a millisecond. Who looks for one by himself wakes up that often; where the system tells of
// them a thread waits for that, while somebody wants it to, and the reactor need not look.
//
// It lives for ever, as its thread does. Thread safety: is_on() and end() from any thread; the rest for one.
class fault_watch {
 public:
  // What is called on the thread of the watch when there is a fault.
  struct alarm {
    void (*call)(void* of) noexcept;
    void* of;
  };
  explicit fault_watch(const alarm& whom) noexcept : whom_{whom} {}
  fault_watch(const fault_watch&) = delete;
  fault_watch& operator=(const fault_watch&) = delete;
  ~fault_watch() = default;  // of one that never began

  // Where the reports come from; the vendor's library, but for tests, which set it while nobody begins.
  static inline std::atomic<const fault_reports*> reports{nullptr};

  // Somebody wants it, or nobody does any more. The first who does has it begin, if the device with that number can be
  // watched at all.
  void want(int device) noexcept;
  void let_be() noexcept { is_wanted_.store(0, std::memory_order_relaxed); }

  // At the end of the process: it begins nothing any more, and is not about to begin.
  void end() noexcept;

  // Is every fault told of, while somebody wants it?
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }

 private:
  void run(const std::string& bus_id) noexcept;

  alarm whom_;
  bool has_begun_ = false;
  std::atomic<bool> is_beginning_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> is_on_{false};
  std::atomic<std::uint32_t> is_wanted_{0};
};

}  // namespace weir::detail
