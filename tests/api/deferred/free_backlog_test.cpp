// SPDX-License-Identifier: Apache-2.0
// free_backlog_test.cpp - creating memory waits for a long backlog of frees.
#include "api/deferred/free_backlog.hpp"

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "driver/engine_services.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using detail::free_backlog;
using std::chrono::steady_clock;
using test::gate;

// A backlog that nothing frees while this object exists.
class long_backlog {
 public:
  long_backlog() noexcept { free_backlog::instance().add(free_backlog::max_bytes + 1); }
  long_backlog(const long_backlog&) = delete;
  long_backlog& operator=(const long_backlog&) = delete;
  ~long_backlog() { free_backlog::instance().remove(free_backlog::max_bytes + 1); }
};

steady_clock::duration time_to_create_memory() {
  const steady_clock::time_point begin = steady_clock::now();
  const managed_buffer<int> x{10};
  return steady_clock::now() - begin;
}

TEST(FreeBacklog, CreatingMemoryWaitsForALongBacklogButNotForEver) {
  const long_backlog backlog;
  EXPECT_GE(time_to_create_memory(), std::chrono::milliseconds{100});
}

TEST(FreeBacklog, TheBacklogOfADeviceThatIsNeverIdleIsBounded) {
  drain_deferred();
  const stream s{device{}};
  const fault_table calls;
  const gate busy{s};
  if (!device{}.is_embedded()) GTEST_SKIP() << "creating memory may block beside a free";
  const char* const waits = std::getenv("WEIR_EMBEDDED_WAITS");
  if (waits != nullptr && std::string_view{waits} == "least")
    GTEST_SKIP() << "frees do not wait for the device";
  for (std::size_t i = 0; i < free_backlog::max_count + 1; ++i) const managed_buffer<char> x{1};
  // Each further buffer waits for a free, which needs an idle device.
  const steady_clock::time_point begin = steady_clock::now();
  const managed_buffer<char> x{1};
  EXPECT_GE(steady_clock::now() - begin, std::chrono::milliseconds{100});
  EXPECT_EQ(deferred_count(), free_backlog::max_count + 1);
}

// Managed memory is freed when the whole device is idle. A GPU's driver holds a lock meanwhile.
TEST(FreeBacklog, NoOtherTaskWaitsForAFree) {
  if (!device{}.is_embedded()) GTEST_SKIP() << "all calls may wait for a GPU's free";
  if (detail::active_deterministic_services() != nullptr)
    GTEST_SKIP() << "a schedule with a seed gives turns to one thread";
  drain_deferred();
  const stream s{device{}};
  const stream t{device{}};
  const fault_table calls;
  const gate busy{s};
  { const managed_buffer<char> x{1}; }
  while (calls.count(&driver_table::cuMemFree_v2) == 0) std::this_thread::yield();
  auto owner = std::make_shared<int>();
  const std::weak_ptr<int> observer = owner;
  launch_host(t, [kept = std::move(owner)] {});
  t.sync();
  const auto enough = steady_clock::now() + std::chrono::minutes{1};
  while (!observer.expired() && steady_clock::now() < enough) std::this_thread::yield();
  EXPECT_TRUE(observer.expired());
}

}  // namespace
}  // namespace weir
