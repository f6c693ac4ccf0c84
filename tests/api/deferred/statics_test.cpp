// SPDX-License-Identifier: Apache-2.0
// statics_test.cpp - objects that are destroyed at exit.
#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <cstdlib>
#include <exception>

#include <gtest/gtest.h>

#include "support/fresh_process.hpp"

namespace weir {
namespace {

// Rule 168: objects that outlive main() are destroyed safely in any order.
TEST(Statics, StaticObjectsAreDestroyedSafelyInAnyOrder) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler([](std::exception_ptr) noexcept { std::_Exit(3); });
    const device gpu;
    static stream s{gpu};
    static stream t{gpu};
    static buffer<unsigned> memory{s, 100};
    static pinned_buffer<unsigned> pinned{100};
    static event mark = s.record();
    static timed_event timed = t.record_timed();
    static context kept{gpu};
    t.wait(s);
    copy(t, memory, pinned);
    launch_host(s, [] {});
    return true;
  });
}

// The main thread's thread_local objects are destroyed before the statics.
TEST(Statics, ThreadLocalObjectsAreDestroyedSafely) {
  test::in_a_fresh_process([] {
    set_unhandled_error_handler([](std::exception_ptr) noexcept { std::_Exit(3); });
    thread_local stream s{device{}};
    thread_local buffer<unsigned> memory{s, 100};
    thread_local stream t{device{}};
    t.wait(s);
    fill(t, memory, 1u);
    return true;
  });
}

}  // namespace
}  // namespace weir
