// SPDX-License-Identifier: Apache-2.0
// fault_monitor_test.cpp - a fault report wakes the reactor.
#include "reactor/fault_monitor.hpp"

#include <weir/completion/completion.hpp>
#include <weir/core/errc.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/table_override.hpp"

namespace weir::detail {
namespace {

using test::table_override;

// A source whose reports the test controls: one object for each monitor, of which `last` is the
// newest. The objects are never destroyed, because the monitors' threads never end.
struct fault_source {
  std::string bus_id;
  std::atomic<int> waits{0};
  std::atomic<fault_report> next{fault_report::none};
};
struct fake_reports {
  static inline std::atomic<bool> has_none{false};
  static inline std::atomic<int> collect_calls{0};
  static inline std::atomic<fault_source*> last{nullptr};

  static void* register_events(const char* of) noexcept {
    ++collect_calls;
    if (has_none) return nullptr;
    static auto& all = *new std::vector<std::unique_ptr<fault_source>>;
    static std::mutex lock;
    const std::lock_guard hold{lock};
    all.push_back(std::make_unique<fault_source>());
    all.back()->bus_id = of;
    last = all.back().get();
    return last;
  }
  static fault_report wait(void* of) noexcept {
    auto& source = *static_cast<fault_source*>(of);
    ++source.waits;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});  // like a wait without a report
    return source.next.exchange(fault_report::none);
  }

  static constexpr fault_reports reports{&register_events, &wait};
};

void wait_until(const auto& condition) {
  while (!condition()) std::this_thread::yield();
}

class FaultMonitor : public ::testing::Test {
 protected:
  FaultMonitor() {
    fake_reports::has_none = false;
    fake_reports::collect_calls = 0;
    fault_monitor::reports = &fake_reports::reports;
  }
  ~FaultMonitor() override { fault_monitor::reports = nullptr; }

  // Never destroyed, because its thread never ends.
  struct monitored {
    std::atomic<int> faults_seen{0};
    fault_monitor monitor{
        {[](void* of) noexcept { ++*static_cast<std::atomic<int>*>(of); }, &faults_seen}};
  };
  static monitored& make() {
    static auto& all = *new std::vector<std::unique_ptr<monitored>>;
    all.push_back(std::make_unique<monitored>());
    return *all.back();
  }
  [[nodiscard]] fault_source& begin(monitored& monitored_device) const {
    monitored_device.monitor.enable(gpu.ordinal());
    wait_until([&] { return monitored_device.monitor.is_on(); });
    return *fake_reports::last;
  }

  const device gpu;
};

TEST_F(FaultMonitor, AFaultRaisesAnAlarm) {
  monitored& monitored_device = make();
  EXPECT_FALSE(monitored_device.monitor.is_on());
  fault_source& source = begin(monitored_device);
  EXPECT_EQ(source.bus_id, gpu.pci_bus_id());
  EXPECT_EQ(monitored_device.faults_seen, 0);
  for (int faults = 1; faults <= 3; ++faults) {
    source.next = fault_report::fault;
    wait_until([&] { return monitored_device.faults_seen == faults; });
  }
  EXPECT_TRUE(monitored_device.monitor.is_on());
  monitored_device.monitor.disable();
}

TEST_F(FaultMonitor, AFaultMonitorWaitsForReportsOnlyWhileItIsEnabled) {
  monitored& monitored_device = make();
  fault_source& source = begin(monitored_device);
  wait_until([&] { return source.waits > 3; });
  monitored_device.monitor.disable();
  // The monitor may still be in a wait, and sleeps afterwards.
  for (int before = -1; before != source.waits;) {
    before = source.waits;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  const int before = source.waits;
  monitored_device.monitor.enable(gpu.ordinal());
  wait_until([&] { return source.waits > before; });
  EXPECT_EQ(fake_reports::collect_calls, 1);
  monitored_device.monitor.disable();
}

TEST_F(FaultMonitor, AFaultMonitorIsOffWithoutFaultReports) {
  fake_reports::has_none = true;
  monitored& monitored_device = make();
  monitored_device.monitor.enable(gpu.ordinal());
  wait_until([&] { return fake_reports::collect_calls == 1; });
  EXPECT_FALSE(monitored_device.monitor.is_on());
  monitored_device.monitor.disable();
  monitored_device.monitor.enable(gpu.ordinal());
  EXPECT_EQ(fake_reports::collect_calls, 1);
}

// The reactor that relied on the reports is notified, so that it polls for faults from now on.
TEST_F(FaultMonitor, TheEndOfTheReportsRaisesAnAlarmAndTurnsTheFaultMonitorOff) {
  monitored& monitored_device = make();
  begin(monitored_device).next = fault_report::unavailable;
  wait_until([&] { return monitored_device.faults_seen == 1; });
  EXPECT_FALSE(monitored_device.monitor.is_on());
}

TEST_F(FaultMonitor, AFaultMonitorIsOffForAMissingDevice) {
  monitored& monitored_device = make();
  monitored_device.monitor.enable(1'000);
  EXPECT_EQ(fake_reports::collect_calls, 0);
  EXPECT_FALSE(monitored_device.monitor.is_on());
}

TEST_F(FaultMonitor, AnEndedFaultMonitorCollectsNoReports) {
  monitored& monitored_device = make();
  monitored_device.monitor.shut_down();
  monitored_device.monitor.enable(gpu.ordinal());
  EXPECT_EQ(fake_reports::collect_calls, 0);
}

// The work never completes, and then fails. A reactor that sleeps for 3 ms at a time makes ten
// queries in 27 ms at best; one that is woken makes many at once.
TEST_F(FaultMonitor, AFaultWakesASleepingReactor) {
  static std::atomic<int> query_count{0};
  static std::atomic<bool> is_broken{false};
  is_broken = false;
  const table_override table{[](driver_table& t) {
    t.cuEventQuery = [](abi::CUevent) {
      ++query_count;
      return is_broken ? abi::CUDA_ERROR_LAUNCH_FAILED : abi::CUDA_ERROR_NOT_READY;
    };
  }};
  const stream s{gpu};
  std::atomic<errc> outcome{errc::not_ready};
  fault_source* const before = fake_reports::last;
  s.completion().then([&](errc how) { outcome = how; });
  static fault_source* reactor_source = nullptr;  // the reactor's monitor starts once in a process
  wait_until([&] { return reactor_source != nullptr || fake_reports::last != before; });
  if (reactor_source == nullptr) reactor_source = fake_reports::last;
  const int waits = reactor_source->waits;
  wait_until([&] { return reactor_source->waits > waits + 100; });  // the sleeps are long by then
  bool has_woken = false;
  while (!has_woken) {
    reactor_source->next = fault_report::fault;
    wait_until([&] { return reactor_source->next == fault_report::none; });
    const auto reported = std::chrono::steady_clock::now();
    const int before_fault = query_count;
    wait_until([&] { return query_count >= before_fault + 10; });
    has_woken = std::chrono::steady_clock::now() - reported < std::chrono::milliseconds{20};
  }
  is_broken = true;
  wait_until([&] { return outcome != errc::not_ready; });
  EXPECT_EQ(outcome, errc::launch_failed);
}

}  // namespace
}  // namespace weir::detail
