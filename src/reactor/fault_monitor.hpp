// SPDX-License-Identifier: Apache-2.0
// reactor/fault_monitor.hpp - wakes a reactor when its device reports a fault.
#pragma once

#include "driver/fault_reports.hpp"

#include <atomic>
#include <cstdint>
#include <string>

namespace weir::detail {

// Waits for fault reports of a device on a thread of its own.
//
// Waiters have to learn of a fault within a millisecond. Without reports the reactor has to poll at
// least once in each millisecond. While the monitor is enabled and is_on() returns true, the
// monitor's thread wakes the reactor after a fault, so the reactor may sleep for longer.
//
// A monitor whose thread has started is never destroyed. Thread safety: is_on() and shut_down() may
// be called from any thread; all other members only by the reactor's thread.
class fault_monitor {
 public:
  // A function that the monitor's thread calls after a fault, and when reports become unavailable,
  // so that the reactor polls for faults again.
  struct callback {
    void (*function)(void* argument) noexcept;
    void* argument;
  };
  explicit fault_monitor(const callback& on_fault) noexcept : on_fault_{on_fault} {}
  fault_monitor(const fault_monitor&) = delete;
  fault_monitor& operator=(const fault_monitor&) = delete;
  ~fault_monitor() = default;  // only if the thread was never started

  // The source of the reports; null stands for the vendor's library. Tests set it while no monitor
  // is starting.
  static inline std::atomic<const fault_reports*> reports{nullptr};

  // Enables or disables the monitor. The first enable() starts the thread. The thread ends
  // immediately if NVML cannot report faults of the device.
  void enable(int device) noexcept;
  void disable() noexcept { is_enabled_.store(0, std::memory_order_relaxed); }

  // Called at the end of the process: prevents the monitor from starting, and waits for up to 1 s
  // while it is starting.
  void shut_down() noexcept;

  // Returns true while the device's fault reports are available: the monitor's thread has
  // registered for them, and they have not failed since. If the monitor is also enabled, the
  // reactor is woken after each fault, and need not poll for faults.
  [[nodiscard]] bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }

 private:
  void run(const std::string& bus_id) noexcept;

  callback on_fault_;
  bool has_started_ = false;
  std::atomic<bool> is_starting_{false};
  std::atomic<bool> has_shut_down_{false};
  std::atomic<bool> is_on_{false};            // see is_on(); set by the monitor's thread
  std::atomic<std::uint32_t> is_enabled_{0};  // 1: enabled; a futex word
};

}  // namespace weir::detail
