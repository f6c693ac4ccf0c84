// SPDX-License-Identifier: Apache-2.0
// reactor/fault_monitor.cpp - the thread that waits for fault reports.
#include "reactor/fault_monitor.hpp"

#include "driver/table.hpp"
#include "os/futex.hpp"
#include "os/poll_until.hpp"
#include "os/signal_blocker.hpp"

#include <pthread.h>

#include <exception>
#include <thread>

namespace weir::detail {

void fault_monitor::enable(int device) noexcept {
  if (is_enabled_.exchange(1) != 0 || has_shut_down_.load()) return;
  if (has_started_) {
    os::futex_wake(is_enabled_, 1);
    return;
  }
  has_started_ = true;
  char bus_id[32] = {};
  const driver_table& calls = *table_in_use.load(std::memory_order_acquire);
  if (calls.cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), device) != CUDA_SUCCESS) return;
  try {
    const os::signal_blocker block_signals;
    std::thread{[this, id = std::string{bus_id}] { run(id); }}.detach();
  } catch (const std::exception&) {  // the reactor then polls, as it does without reports
  }
}

void fault_monitor::run(const std::string& bus_id) noexcept {
  pthread_setname_np(pthread_self(), "weir-faults");
  const fault_reports* const override_reports = reports.load();
  const fault_reports& source =
      override_reports != nullptr ? *override_reports : vendor_fault_reports();
  is_starting_.store(true);
  void* const event_set = has_shut_down_.load() ? nullptr : source.register_events(bus_id.c_str());
  is_starting_.store(false);
  if (event_set == nullptr) return;
  is_on_.store(true, std::memory_order_release);
  for (;;) {
    while (is_enabled_.load() == 0) os::futex_wait(is_enabled_, 0);
    if (has_shut_down_.load()) return;
    const fault_report report = source.wait(event_set);
    if (report == fault_report::none) continue;
    if (report == fault_report::unavailable) is_on_.store(false, std::memory_order_release);
    on_fault_.function(on_fault_.argument);
    if (report == fault_report::unavailable) return;
  }
}

// Waits until the library has been opened, because the exit must not unload it meanwhile. A slow
// library delays the exit by one second at most.
void fault_monitor::shut_down() noexcept {
  constexpr long long timeout = 1'000'000'000;
  has_shut_down_.store(true);
  constexpr bool starting = true;
  static_cast<void>(os::poll_until(timeout, starting, [this] { return is_starting_.load(); }));
}

}  // namespace weir::detail
