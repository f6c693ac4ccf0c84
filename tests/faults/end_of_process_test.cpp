// end_of_process_test.cpp - weir's objects as statics, whose destructors run when the driver has gone before them.
#include <weir/buffer.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/current_stream.hpp>
#include <weir/event.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream_pool.hpp>
#include <weir/timer.hpp>
#include <weir/value_wait.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/child.hpp"

namespace weir {
namespace {

using test::failing_table;

// Ends the process as a failure: nothing may reach the hook when the driver has gone.
void tell(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "reached the hook: %s\n", e.what());
  }
  std::_Exit(3);
}

// What a program may have at namespace scope, in use.
struct belongings {
  device gpu;
  stream s{gpu};
  stream t{gpu};
  event e = s.record();
  timed_event te = s.record_timed();
  buffer<int> x{s, 100};
  pinned_buffer<int> y{100};
  pinned_buffer<int> unused{100};
  word<std::uint32_t> w;
  timings times;
  stream_pool pool{gpu};
  stream_lease lease = pool.acquire();
  context kept{gpu};

  belongings() {
    copy(s, x, y);
    x.used_on(t);
    write_value(t, w, 1);
    { const timer section{times, "a", s}; }
    use(s);
    s.sync();
    t.sync();
  }
};

// From here on every call answers as a driver does that has shut down.
struct end_of_the_driver {
  failing_table& faults;
  ~end_of_the_driver() {
    for (const test::driver_function& function : test::driver_functions) {
      function.fail_from(faults, abi::CUDA_ERROR_DEINITIALIZED);
    }
  }
};

// Rule 161: destruction after the driver has gone is no failure, and harms nothing.
TEST(EndOfProcess, StaticsOutliveTheDriver) {
  test::in_a_fresh_process([] {
    on_unraised_error(&tell);
    static failing_table faults;                  // destroyed last
    static belongings all;                        // then these, by a driver that is gone
    static const end_of_the_driver gone{faults};  // destroyed first
    return WEIR_HOLDS(all.s.done());
  });
}

// The same where the driver is still there: all of it is given back, and nothing is reported.
TEST(EndOfProcess, StaticsAreDestroyedWithTheDriver) {
  test::in_a_fresh_process([] {
    on_unraised_error(&tell);
    static const belongings all;
    return WEIR_HOLDS(all.s.done());
  });
}

// Threads that end after main has returned leave their events and current streams behind in order.
TEST(EndOfProcess, AtExitFunctionsMayUseWeir) {
  test::in_a_fresh_process([] {
    on_unraised_error(&tell);
    static const belongings all;
    std::atexit([] {
      const stream late{device{}};
      pinned_buffer<int> pinned{10};
      copy(late, pinned, pinned);
      late.sync();
    });
    return true;
  });
}

}  // namespace
}  // namespace weir
