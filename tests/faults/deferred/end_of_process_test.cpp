// SPDX-License-Identifier: Apache-2.0
// end_of_process_test.cpp - weir's objects as statics, destroyed after the driver has shut down.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/when.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/event/timer.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_pool.hpp>
#include <weir/sync/value_wait.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "os/at_exit.hpp"
#include "support/errors.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/wait_until_asleep.hpp"

namespace weir {
namespace {

using test::fault_table;

// Ends the process with an error: after a driver shutdown nothing may reach the handler.
void fail_on_unhandled_error(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "reached the hook: %s\n", e.what());
  }
  std::_Exit(3);
}

// Objects in use that a program may have at namespace scope.
struct static_objects {
  device gpu;
  stream s{gpu};
  stream t{gpu};
  event e = s.record();
  timed_event te = s.record_timed();
  buffer<int> x{s, 100};
  pinned_buffer<int> y{100};
  pinned_buffer<int> unused{100};
  wait_word<std::uint32_t> w;
  timings times;
  graph work = capture(s, [this] { fill(s, x, 1); });
  graph_exec run = work.instantiate();
  stream_pool pool{gpu};
  stream_lease lease = pool.acquire();
  context kept{gpu};

  static_objects() {
    copy(s, x, y);
    x.used_on(t);
    write_value(t, w, 1);
    { const timer section{times, "a", s}; }
    set_current_stream(s);
    s.sync();
    t.sync();
  }
};

// Makes every driver call fail like after a shutdown.
struct driver_shutdown {
  fault_table& faults;
  ~driver_shutdown() {
    for (const test::driver_function& function : test::driver_functions) {
      function.fail_from(faults, abi::CUDA_ERROR_DEINITIALIZED);
    }
  }
};

// Rule 161: destruction after the driver's shutdown is no failure.
TEST(EndOfProcess, StaticsOutliveTheDriver) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    static fault_table faults;                  // destroyed last
    static static_objects all;                  // destroyed next, after the shutdown
    static const driver_shutdown gone{faults};  // destroyed first
    return WEIR_HOLDS(all.s.done());
  });
}

// A thread that sleeps until work is done wakes up if the driver shuts down first.
struct blocked_threads {
  blocked_threads() = default;
  blocked_threads(const blocked_threads&) = delete;
  blocked_threads& operator=(const blocked_threads&) = delete;
  ~blocked_threads() {
    for (std::thread& each : sleeping) each.join();
    for (const errc each : outcomes) {
      if (each != errc::deinitialized) std::_Exit(4);
    }
  }

  template <class Wait>
  void begin(std::size_t i, Wait wait) {
    sleeping[i] = std::thread{[this, i, wait] {
      numbers[i] = gettid();
      outcomes[i] = test::result_of(wait);
    }};
    while (numbers[i] == 0) std::this_thread::yield();
    test::wait_until_asleep(numbers[i]);
  }

  stream* s = nullptr;  // never destroyed, like its gate
  test::gate* never_opened = nullptr;
  std::array<std::thread, 2> sleeping;
  std::array<std::atomic<pid_t>, 2> numbers{};
  std::array<errc, 2> outcomes{};
};

TEST(EndOfProcess, AWaitingThreadIsNotifiedThatTheDriverHasShutDown) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    static fault_table faults;
    static blocked_threads last;  // destroyed after the shutdown
    static const driver_shutdown gone{faults};
    last.s = new stream{device{}};
    last.never_opened = new test::gate{*last.s};
    const completion c = last.s->completion();
    last.begin(0, [c] { c.wait(); });
    last.begin(1, [c] { sync_wait(when_all(c, c)); });
    return true;
  });
}

// If the driver is still available, all objects are destroyed and nothing is reported.
TEST(EndOfProcess, StaticsAreDestroyedWithTheDriver) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    static const static_objects all;
    return WEIR_HOLDS(all.s.done());
  });
}

// Threads that end after main() has returned release their events and current streams.
TEST(EndOfProcess, AtExitFunctionsMayUseWeir) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    static const static_objects all;
    std::atexit([] {
      const stream late{device{}};
      pinned_buffer<int> pinned{10};
      copy(late, pinned, pinned);
      late.sync();
    });
    return true;
  });
}

// Forks, runs `body` in the child and exits the child normally. Returns true if that succeeds in
// time.
template <class Body>
[[nodiscard]] bool child_ends_well(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    body();
    std::exit(0);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ForkedChild : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device{}.is_embedded())
      GTEST_SKIP() << "needs the embedded driver: a forked child cannot use CUDA";
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a thread sanitizer may hang in the child of a program with several threads";
#endif
  }
};

// The reclaimer thread and its tasks stay in the parent.
TEST_F(ForkedChild, AForkedChildExitsWithoutTheReclaimerThread) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    stream s{device{}};
    const test::gate held{s};
    {
      pinned_buffer<int> pinned{10};
      fill(s, pinned, 1);
    }
    return WEIR_HOLDS(deferred_count() == 1u) && WEIR_HOLDS(child_ends_well([] {})) &&
           WEIR_HOLDS(child_ends_well([] {
             drain_deferred();
             if (deferred_count() != 0) std::_Exit(4);
           }));
  });
}

// The child destroys its copies of the parent's objects without reports and without effect on the
// parent. Driver calls fail with not_initialized.
TEST_F(ForkedChild, AForkedChildDestroysItsCopiesWithoutDriverCalls) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    static static_objects all;
    const bool went_well = child_ends_well([] {
      const auto refused = [](const auto& call) {
        return test::result_of(call) == errc::not_initialized;
      };
      if (!refused([] { all.s.sync(); })) std::_Exit(4);
      if (!refused([] { static_cast<void>(stream{device{}}); })) std::_Exit(5);
      { const buffer<int> x = std::move(all.x); }
      { const pinned_buffer<int> y = std::move(all.y); }
      all.w.close();
      const fault_table calls;
      {
        const event e = std::move(all.e);
        const timed_event te = std::move(all.te);
        const graph_exec run = std::move(all.run);
        const graph work = std::move(all.work);
        const timings times = std::move(all.times);
      }
      if (calls.count_all() != 0) std::_Exit(6);
    });
    all.s.sync();
    fill(all.s, all.x, 1);
    all.s.sync();
    return WEIR_HOLDS(went_well);
  });
}

// Other threads may hold weir's locks when the program forks.
TEST_F(ForkedChild, AForkedChildExitsWhateverTheParentIsDoing) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler(&fail_on_unhandled_error);
    const device gpu;
    static stream kept{gpu};
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        while (!stop) {
          const stream s{gpu};
          buffer<int> x{s, 10};
          pinned_buffer<int> y{10};
          copy(s, x, y);
          launch_host(s, [] {});
          wait_word<std::uint32_t> w;
          write_value(s, w, 1);
          set_name(s, "busy");
          s.sync();
        }
      });
    }
    int well = 0;
    for (int i = 0; i < 20; ++i) well += child_ends_well([] {}) ? 1 : 0;
    stop = true;
    for (std::thread& t : threads) t.join();
    return WEIR_HOLDS(well == 20);
  });
}

// exit() takes a lock of the C library that weir also takes when its thread starts.
TEST_F(ForkedChild, AForkedChildExitsWhileTheParentRegistersExitFunctions) {
  test::in_a_fresh_process([] {
    const stream s{device{}};  // installs weir's fork handlers
    std::atomic<int> left{0};
    std::atomic<bool> stop{false};
    std::thread leaving{[&] {
      while (!stop && ++left < 1'000'000) os::register_at_exit([] {});
    }};
    while (left == 0) std::this_thread::yield();
    bool well = true;
    for (int i = 0; i < 10 && well; ++i) well = child_ends_well([] {});
    stop = true;
    leaving.join();
    return WEIR_HOLDS(well);
  });
}

}  // namespace
}  // namespace weir
