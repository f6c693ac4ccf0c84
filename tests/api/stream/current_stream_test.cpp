// SPDX-License-Identifier: Apache-2.0
// current_stream_test.cpp - the current stream of each thread and device.
#include <weir/device/context.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/current_stream.hpp>

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "current_stream_fixture.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;

class CurrentStream : public test::current_stream_fixture {};

// Rule 21.
TEST_F(CurrentStream, EachThreadStartsWithTheDefaultStream) {
  on_a_new_thread([&] {
    EXPECT_EQ(default_stream(), stream_ref::legacy());
    for (const device any : device::all()) EXPECT_EQ(current_stream(any), default_stream());
    EXPECT_EQ(current_stream(), default_stream());
  });
}

// Rule 22.
TEST_F(CurrentStream, EachThreadHasItsOwnCurrentStream) {
  on_a_new_thread([&] {
    set_current_stream(a);
    EXPECT_EQ(current_stream(gpu), a.ref());
    on_a_new_thread([&] {
      EXPECT_EQ(current_stream(gpu), default_stream());
      set_current_stream(b);
    });
    EXPECT_EQ(current_stream(gpu), a.ref());
  });
}

// Rule 23.
TEST_F(CurrentStream, EachDeviceHasItsOwnCurrentStream) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const device second{1};
  const stream other{second};
  on_a_new_thread([&] {
    set_current_stream(a);
    {
      const context_scope there{second};
      EXPECT_EQ(current_stream(), default_stream());
      set_current_stream(other);
      EXPECT_EQ(current_stream(), other.ref());
    }
    EXPECT_EQ(current_stream(), a.ref());
    EXPECT_EQ(current_stream(second), other.ref());
  });
}

// Rule 27.
TEST_F(CurrentStream, AStreamOfAnotherDeviceIsRefusedAndChangesNothing) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  on_a_new_thread([&] {
    set_current_stream(a);
    const auto failure = failure_of([&] { set_current_stream(other); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_device);
    EXPECT_NE(failure->hint().find("switch_device"), std::string::npos) << failure->what();
    EXPECT_EQ(result_of([&] { const stream_scope s{other}; }), errc::invalid_device);
    EXPECT_EQ(current_stream(), a.ref());
    EXPECT_EQ(current_stream(device{1}), default_stream());
    EXPECT_EQ(current_device(), gpu);
    {
      const stream_scope there{other, {.switch_device = true}};
      EXPECT_EQ(current_device(), device{1});
      EXPECT_EQ(current_stream(), other.ref());
    }
    EXPECT_EQ(current_device(), gpu);
    EXPECT_EQ(current_stream(), a.ref());
  });
}

// Rule 28.
TEST_F(CurrentStream, ACurrentStreamOutlivesItsOwner) {
  on_a_new_thread([&] {
    const fault_table calls;
    auto owner = std::make_unique<stream>(gpu);
    const stream_ref mine = *owner;
    set_current_stream(mine);
    owner.reset();
    EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
    EXPECT_EQ(current_stream(), mine);
    gate held{current_stream()};
    EXPECT_FALSE(current_stream().done());
    held.open();
    current_stream().sync();
    set_current_stream(a);
    EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
  });
}

// Rule 28, until the thread ends.
TEST_F(CurrentStream, ACurrentStreamIsDestroyedWithTheLastThreadThatUsesIt) {
  const fault_table calls;
  on_a_new_thread([&] {
    stream owner{gpu};
    set_current_stream(owner);
    owner.close();
    EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
  });
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

// Rule 163.
TEST_F(CurrentStream, ACurrentStreamCannotBeReleasedOrShutDown) {
  on_a_new_thread([&] {
    stream owner{gpu};
    {
      const stream_scope scope{owner};
      EXPECT_EQ(result_of([&] { static_cast<void>(owner.release()); }), errc::illegal_state);
      EXPECT_EQ(result_of([&] { owner.shutdown(); }), errc::illegal_state);
      EXPECT_FALSE(owner.closed());
      EXPECT_TRUE(owner.done());
    }
    owner.shutdown();
    EXPECT_TRUE(owner.closed());
  });
}

// Rule 31.
TEST_F(CurrentStream, AnExplicitStreamArgumentDoesNotChangeTheCurrentStream) {
  pinned_buffer<unsigned> word{1};
  on_a_new_thread([&] {
    set_current_stream(a);
    gate held{a};
    fill(b, word, 7u);
    b.sync();
    EXPECT_EQ(word[0], 7u);
    EXPECT_EQ(current_stream(), a.ref());
    held.open();
  });
}

TEST_F(CurrentStream, AClosedStreamCannotBecomeCurrent) {
  on_a_new_thread([&] {
    set_current_stream(a);
    stream gone{gpu};
    gone.close();
    EXPECT_EQ(result_of([&] { set_current_stream(gone); }), errc::closed);
    EXPECT_EQ(result_of([&] { const stream_scope s{gone}; }), errc::closed);
    EXPECT_EQ(current_stream(), a.ref());
  });
}

TEST_F(CurrentStream, AnInvalidDeviceHasNoCurrentStream) {
  EXPECT_EQ(result_of([] { static_cast<void>(current_stream(device{-1})); }), errc::invalid_device);
}

// Rules 19 and 20.
TEST(DefaultStream, TheEnvironmentMayNameThePerThreadStream) {
  test::in_a_fresh_process([] {
    ::setenv("WEIR_DEFAULT_STREAM", "per-thread", 1);
    const context_scope current{device{}};
    bool good = WEIR_HOLDS(default_stream() == stream_ref::per_thread());
    good = WEIR_HOLDS(current_stream() == stream_ref::per_thread()) && good;
    {
      const stream_scope scope{stream_ref::legacy()};
      good = WEIR_HOLDS(current_stream() == stream_ref::legacy()) && good;
    }
    good = WEIR_HOLDS(current_stream() == stream_ref::per_thread()) && good;
    set_current_stream(stream_ref::legacy());
    return WEIR_HOLDS(current_stream() == stream_ref::legacy()) && good;
  });
}

TEST(DefaultStream, TheEnvironmentMayNameTheLegacyStream) {
  test::in_a_fresh_process([] {
    ::setenv("WEIR_DEFAULT_STREAM", "legacy", 1);
    return WEIR_HOLDS(default_stream() == stream_ref::legacy());
  });
}

// Rule 19.
TEST(DefaultStream, AnInvalidEnvironmentValueIsReported) {
  test::in_a_fresh_process([] {
    ::setenv("WEIR_DEFAULT_STREAM", "1per-thread", 1);
    for (int i = 0; i < 2; ++i) {  // on every call
      const auto failure = failure_of([] { static_cast<void>(default_stream()); });
      if (!WEIR_HOLDS(failure && failure->result() == errc::invalid_value)) return false;
      if (!WEIR_HOLDS(failure->hint().find("1per-thread") != std::string::npos)) return false;
    }
    return WEIR_HOLDS(result_of([] { static_cast<void>(current_stream(device{})); }) ==
                      errc::invalid_value);
  });
}

}  // namespace
}  // namespace weir
