// SPDX-License-Identifier: Apache-2.0
// host_function_closure_test.cpp - closures of host functions: copied or moved in, kept, destroyed
// once.
#include <weir/core/deferred.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::closure_probe;
using test::closure_stats;
using test::gate;
using test::result_of;
using test::unhandled_errors;

class HostFunctionClosure : public ::testing::Test {
 protected:
  ~HostFunctionClosure() override { drain_deferred(); }

  device gpu;
  stream s{gpu};
};

// Rule 82: the closure is copied or moved in, so the caller may destroy its own at once.
TEST_F(HostFunctionClosure, AClosureIsCopiedAndOutlivesTheCaller) {
  gate held{s};
  std::string got;
  {
    const std::string text(100, 'x');
    launch_host(s, [&got, text] { got = text; });
  }
  held.open();
  s.sync();
  EXPECT_EQ(got, std::string(100, 'x'));
}

TEST_F(HostFunctionClosure, AClosureMayBeLargeAndAligned) {
  struct alignas(1024) wide {
    std::array<unsigned char, 5000> bytes{};
  };
  std::array<unsigned char, 500> big{};
  big[499] = 7;
  wide far;
  far.bytes[4999] = 8;
  int sum = 0;
  bool aligned = false;
  launch_host(s, [&sum, big] { sum += big[499]; });
  launch_host(s, [&sum, &aligned, far] {
    sum += far.bytes[4999];
    aligned = reinterpret_cast<std::uintptr_t>(&far) % 1024 == 0;
  });
  s.sync();
  EXPECT_EQ(sum, 15);
  EXPECT_TRUE(aligned);
}

// Rule 75.
TEST_F(HostFunctionClosure, AClosureIsDestroyedOnceAndOutsideOfHostFunctions) {
  closure_stats once;
  closure_stats callback;
  closure_stats repeatable;
  launch_host_once(s, [w = closure_probe{once}] { w.record_run(); });
  add_callback(s, [w = closure_probe{callback}](errc) { w.record_run(); });
  launch_host(s, [w = closure_probe{repeatable}] { w.record_run(); });
  s.sync();
  drain_deferred();
  for (const closure_stats* f : {&once, &callback, &repeatable}) {
    EXPECT_EQ(f->runs, 1);
    EXPECT_EQ(f->destructions, 1);
    EXPECT_EQ(f->destructions_in_host_functions, 0);
  }
}

// Rules 75 and 89: a closure may own any object of weir, even the last owner of its own stream.
TEST_F(HostFunctionClosure, AClosureMayOwnStreamsEventsAndBuffers) {
  const unhandled_errors unhandled;
  auto own = std::make_unique<stream>(gpu);
  const stream_ref on = *own;
  gate held{on};
  buffer<int> device_memory{on, 100};
  pinned_buffer<int> pinned{100};
  event mark = on.record();
  int runs = 0;
  launch_host_once(on, [&runs, own = std::move(own), device_memory = std::move(device_memory),
                        pinned = std::move(pinned), mark = std::move(mark)] { ++runs; });
  const event behind = on.record();
  held.open();
  behind.sync();
  drain_deferred();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(unhandled.count(), 0u);
}

// If the closure's move constructor throws, nothing is queued and nothing is leaked.
TEST_F(HostFunctionClosure, AClosureWhoseCopyThrowsIsNotQueued) {
  struct refuses {
    refuses() = default;
    refuses(const refuses&) { throw std::runtime_error{"no copy"}; }
    void operator()() const {}
  };
  const refuses f;
  EXPECT_THROW(launch_host(s, f), std::runtime_error);
  s.sync();
}

// Rule 81: a refused call destroys the closure on the calling thread.
TEST_F(HostFunctionClosure, ARefusedClosureIsDestroyedOnTheCallingThread) {
  stream gone{gpu};
  gone.close();
  closure_stats f;
  EXPECT_EQ(result_of([&] { launch_host_once(gone, [w = closure_probe{f}] { w.record_run(); }); }),
            errc::closed);
  EXPECT_EQ(f.runs, 0);
  EXPECT_EQ(f.destructions, 1);
  EXPECT_EQ(f.destroyed_by.load(), std::this_thread::get_id());
}

}  // namespace
}  // namespace weir
