// reactor/fault_monitor.hpp - wakes a reactor when its device has a fault.
#pragma once

#include "driver/fault_reports.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace weir::detail {

// A fault is to be told within a millisecond. Who looks for one by himself wakes up that often;
// where the system tells of them a thread waits for that, while somebody wants it to, and the
// reactor need not look.
//
// It lives for ever, as its thread does. Thread safety: is_on() and shut_down() from any thread;
// the rest for one.
class fault_monitor {
 public:
  // What is called on the thread of the watch when there is a fault.
  struct callback {
    void (*function)(void* argument) noexcept;
    void* argument;
  };
  explicit fault_monitor(const callback& on_fault) noexcept : on_fault_{on_fault} {}
  fault_monitor(const fault_monitor&) = delete;
  fault_monitor& operator=(const fault_monitor&) = delete;
  ~fault_monitor() = default;  // of one that never began

  // Where the reports come from; the vendor's library, but for tests, which set it while nobody
  // begins.
  static inline std::atomic<const fault_reports*> reports{nullptr};

  // Somebody wants it, or nobody does any more. The first who does has it begin, if the device with
  // that number can be watched at all.
  void enable(int device) noexcept;
  void disable() noexcept { is_enabled_.store(0, std::memory_order_relaxed); }

  // At the end of the process: it begins nothing any more, and is not about to begin.
  void shut_down() noexcept;

  // Is every fault told of, while somebody wants it?
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }

 private:
  void run(const std::string& bus_id) noexcept;

  callback on_fault_;
  bool has_started_ = false;
  std::atomic<bool> is_starting_{false};
  std::atomic<bool> has_shut_down_{false};
  std::atomic<bool> is_on_{false};
  std::atomic<std::uint32_t> is_enabled_{0};
};

}  // namespace weir::detail
