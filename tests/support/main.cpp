// SPDX-License-Identifier: Apache-2.0
// The main function of every test program: runs the tests against the driver that WEIR_DRIVER
// names.
#include <gmock/gmock.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <weir/core/driver.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/error.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include "embedded/engine/deterministic_scheduler.hpp"
#include "embedded/engine/scheduler.hpp"
#include "support/peer.hpp"
#include "support/time_limit.hpp"

#if defined(__SANITIZE_THREAD__)
// Copies and memsets of any size write words that streams wait for, with plain stores, while other
// threads read them, as on a GPU.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:weir::embedded::model::value_wait::run\n";
}
#endif

#if defined(__SANITIZE_ADDRESS__)
// A forked child has the parent's memory, but not the threads that own it, so LeakSanitizer is off
// there.
namespace {
const pid_t program = getpid();
}
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return getpid() != program; }
#endif

namespace {

constexpr int skipped = 77;  // the exit status that CTest treats as "skipped"

// Returns true if there is no GPU or no GPU driver. Any other driver problem is a failure.
bool is_missing_driver(weir::errc code) {
  return code == weir::errc::no_device || code == weir::errc::file_not_found;
}

template <class T>
void use_once(weir::stream_ref s) {
  weir::pinned_buffer<T> pinned{64};
  weir::buffer<T> there{s, 64};
  weir::buffer<T> other{s, 64};
  std::array<T, 64> pageable{};
  weir::fill(s, pinned, T{1});
  weir::fill(s, there, T{2});
  weir::copy(s, pinned, there);
  weir::copy(s, there, other);
  weir::copy(s, other, pinned);
  weir::copy(s, pageable, there);
  weir::copy(s, there, pageable);
  weir::copy_batch{}.add(pinned, there).add(pageable, other).enqueue(s);
  weir::copy_batch{}.add(there, pinned).add(other, pageable).enqueue(s);
  weir::copy_batch{}.add(there, other).enqueue(s);
  s.sync();
}

// A GPU's driver loads code for each kind of work at its first use, and waits for the whole device
// to do so. A test that blocks a stream would hang, so every kind is used once before the first
// test.
void warm_up() {
  const weir::stream s{weir::device{}};
  use_once<std::uint8_t>(s);
  use_once<std::uint16_t>(s);
  use_once<std::uint32_t>(s);
  weir::launch_host(s, [] {});
  weir::add_callback(s, [](weir::errc) {});
  s.sync();
  // cuMemFreeHost of the pinned buffers waits for the device, and other threads' calls wait for it.
  // A test that blocks a stream meanwhile could not unblock it.
  weir::drain_deferred();
}

// Runs one test's deferred tasks before the next test, which may count driver calls.
class drain_before_each_test : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { weir::drain_deferred(); }
};

// Prints after each test a number that follows from the order of all operations so far, for
// tests/api/same_order.py.
class order_printer : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    const auto* const steps = weir::embedded::engine::scheduler::instance().deterministic();
    if (steps == nullptr) return;
    std::printf("order: %s.%s %llx%s\n", test.test_suite_name(), test.name(),
                static_cast<unsigned long long>(steps->order()),
                steps->has_multiple_threads() ? " threads" : "");
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new weir::test::time_limit);  // first: the others may wait
  listeners.Append(new drain_before_each_test);
  if (std::getenv("WEIR_TEST_ORDER") != nullptr) listeners.Append(new order_printer);
  // A GPU's driver reads these when it starts: load everything at once, and use all hardware
  // queues, so that unrelated streams do not block each other.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  try {
    const weir::driver_info driver = weir::current_driver();
    std::printf("driver: %s\n", weir::to_string(driver.kind).data());
    if (driver.kind == weir::driver_kind::cuda) warm_up();
  } catch (const weir::error& failure) {
    std::printf("%s\n", failure.what());
    return is_missing_driver(failure.result()) ? skipped : 1;
  }
  if (int status = 0; weir::test::peer_role::run_if_requested(status)) return status;
  return RUN_ALL_TESTS();
}
