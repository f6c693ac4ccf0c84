// reactor/fault_watch.cpp - the thread that waits for faults.
#include "reactor/fault_watch.hpp"

#include "os/futex.hpp"
#include "os/signals_blocked.hpp"
#include "driver/table.hpp"
#include "os/clock.hpp"

#include <pthread.h>
#include <sched.h>

#include <exception>
#include <thread>

namespace weir::detail {

void fault_watch::want(int device) noexcept {
  if (is_wanted_.exchange(1) != 0 || has_ended_.load()) return;
  if (has_begun_) {
    futex_wake(is_wanted_, 1);
    return;
  }
  has_begun_ = true;
  char bus_id[32] = {};
  const driver_table& calls = *table_in_use.load(std::memory_order_acquire);
  if (calls.cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), device) != CUDA_SUCCESS) return;
  try {
    const signals_blocked none_here;
    std::thread{[this, id = std::string{bus_id}] { run(id); }}.detach();
  } catch (const std::exception&) {  // then the reactor looks, as it does where there are no reports
  }
}

void fault_watch::run(const std::string& bus_id) noexcept {
  pthread_setname_np(pthread_self(), "weir-faults");
  const fault_reports* const given = reports.load();
  const fault_reports& from = given != nullptr ? *given : vendor_fault_reports();
  is_beginning_.store(true);
  void* const collected = has_ended_.load() ? nullptr : from.collect(bus_id.c_str());
  is_beginning_.store(false);
  if (collected == nullptr) return;
  is_on_.store(true, std::memory_order_release);
  for (;;) {
    while (is_wanted_.load() == 0) futex_wait(is_wanted_, 0);
    if (has_ended_.load()) return;
    const fault_report what = from.wait(collected);
    if (what == fault_report::none_yet) continue;
    if (what == fault_report::no_more) is_on_.store(false, std::memory_order_release);
    whom_.call(whom_.of);
    if (what == fault_report::no_more) return;
  }
}

// A library that is being opened is not to be closed meanwhile. One that is slow to begin does not hold up the end for long.
void fault_watch::end() noexcept {
  constexpr long long patience = 1'000'000'000;
  has_ended_.store(true);
  for (const long long since = steady_nanoseconds(); is_beginning_.load();) {
    if (steady_nanoseconds() - since > patience) return;
    sched_yield();
  }
}

}  // namespace weir::detail
