// fault_watch_test.cpp - where a system tells of faults a reactor is woken by them.
#include "reactor/fault_watch.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/core/errc.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/own_table.hpp"

namespace weir::detail {
namespace {

using test::own_table;

// A system that tells when the test says so: what each watch is told of, the last one to begin being the last. Their threads
// never end, and so they do not.
struct collected {
  std::string bus_id;
  std::atomic<int> waits{0};
  std::atomic<fault_report> next{fault_report::none_yet};
};
struct reporter {
  static inline std::atomic<bool> has_none{false};
  static inline std::atomic<int> asked{0};
  static inline std::atomic<collected*> last{nullptr};

  static void* collect(const char* of) noexcept {
    ++asked;
    if (has_none) return nullptr;
    static auto& all = *new std::vector<std::unique_ptr<collected>>;
    static std::mutex lock;
    const std::lock_guard hold{lock};
    all.push_back(std::make_unique<collected>());
    all.back()->bus_id = of;
    last = all.back().get();
    return last;
  }
  static fault_report wait(void* of) noexcept {
    auto& mine = *static_cast<collected*>(of);
    ++mine.waits;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});  // as one blocks that has nothing to tell
    return mine.next.exchange(fault_report::none_yet);
  }

  static constexpr fault_reports reports{&collect, &wait};
};

void until(const auto& so) {
  while (!so()) std::this_thread::yield();
}

class FaultWatch : public ::testing::Test {
 protected:
  FaultWatch() {
    reporter::has_none = false;
    reporter::asked = 0;
    fault_watch::reports = &reporter::reports;
  }
  ~FaultWatch() override { fault_watch::reports = nullptr; }

  // Lives for ever, as its thread may.
  struct alarmed {
    std::atomic<int> alarms{0};
    fault_watch watch{{[](void* of) noexcept { ++*static_cast<std::atomic<int>*>(of); }, &alarms}};
  };
  static alarmed& make() {
    static auto& all = *new std::vector<std::unique_ptr<alarmed>>;
    all.push_back(std::make_unique<alarmed>());
    return *all.back();
  }
  [[nodiscard]] collected& begin(alarmed& one) const {
    one.watch.want(gpu.ordinal());
    until([&] { return one.watch.is_on(); });
    return *reporter::last;
  }

  const device gpu;
};

TEST_F(FaultWatch, TellsOfAFault) {
  alarmed& one = make();
  EXPECT_FALSE(one.watch.is_on());
  collected& told = begin(one);
  EXPECT_EQ(told.bus_id, gpu.pci_bus_id());
  EXPECT_EQ(one.alarms, 0);
  for (int faults = 1; faults <= 3; ++faults) {
    told.next = fault_report::fault;
    until([&] { return one.alarms == faults; });
  }
  EXPECT_TRUE(one.watch.is_on());
  one.watch.let_be();
}

TEST_F(FaultWatch, WaitsWhileSomebodyWantsItAlone) {
  alarmed& one = make();
  collected& told = begin(one);
  until([&] { return told.waits > 3; });
  one.watch.let_be();
  // It may be in a wait still, and then sleeps.
  for (int before = -1; before != told.waits;) {
    before = told.waits;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  const int before = told.waits;
  one.watch.want(gpu.ordinal());
  until([&] { return told.waits > before; });
  EXPECT_EQ(reporter::asked, 1);
  one.watch.let_be();
}

TEST_F(FaultWatch, IsOffWhereThereAreNoReports) {
  reporter::has_none = true;
  alarmed& one = make();
  one.watch.want(gpu.ordinal());
  until([&] { return reporter::asked == 1; });
  EXPECT_FALSE(one.watch.is_on());
  one.watch.let_be();
  one.watch.want(gpu.ordinal());
  EXPECT_EQ(reporter::asked, 1);
}

// Whoever relied upon it looks for himself from now on.
TEST_F(FaultWatch, IsOffAndSaysSoWhenThereAreNoMore) {
  alarmed& one = make();
  begin(one).next = fault_report::no_more;
  until([&] { return one.alarms == 1; });
  EXPECT_FALSE(one.watch.is_on());
}

TEST_F(FaultWatch, IsOffForADeviceThatIsNotThere) {
  alarmed& one = make();
  one.watch.want(1'000);
  EXPECT_EQ(reporter::asked, 0);
  EXPECT_FALSE(one.watch.is_on());
}

TEST_F(FaultWatch, BeginsNothingAtTheEndOfTheProcess) {
  alarmed& one = make();
  one.watch.end();
  one.watch.want(gpu.ordinal());
  EXPECT_EQ(reporter::asked, 0);
}

// A driver whose work takes for ever, and then fails. Whoever sleeps 3 ms at a time has asked ten questions after 27 at the
// earliest; whoever is woken asks many at once.
TEST_F(FaultWatch, WakesAReactorThatSleeps) {
  static std::atomic<int> questions{0};
  static std::atomic<bool> is_broken{false};
  is_broken = false;
  const own_table table{[](driver_table& t) {
    t.cuEventQuery = [](abi::CUevent) {
      ++questions;
      return is_broken ? abi::CUDA_ERROR_LAUNCH_FAILED : abi::CUDA_ERROR_NOT_READY;
    };
  }};
  const stream s{gpu};
  std::atomic<errc> outcome{errc::not_ready};
  collected* const before = reporter::last;
  s.completion().then([&](errc how) { outcome = how; });
  static collected* of_the_reactor = nullptr;  // which begins once in a process
  until([&] { return of_the_reactor != nullptr || reporter::last != before; });
  if (of_the_reactor == nullptr) of_the_reactor = reporter::last;
  const int waits = of_the_reactor->waits;
  until([&] { return of_the_reactor->waits > waits + 100; });  // by then it sleeps for long
  bool has_woken = false;
  while (!has_woken) {
    of_the_reactor->next = fault_report::fault;
    until([&] { return of_the_reactor->next == fault_report::none_yet; });
    const auto told = std::chrono::steady_clock::now();
    const int asked = questions;
    until([&] { return questions >= asked + 10; });
    has_woken = std::chrono::steady_clock::now() - told < std::chrono::milliseconds{20};
  }
  is_broken = true;
  until([&] { return outcome != errc::not_ready; });
  EXPECT_EQ(outcome, errc::launch_failed);
}

}  // namespace
}  // namespace weir::detail
