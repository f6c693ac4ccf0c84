// SPDX-License-Identifier: Apache-2.0
// context_test.cpp - contexts: the primary context, keeping it, making one current and restoring
// the caller's.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/created_context.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using test::result_of;

// Runs the body on a new thread, on which no context is current.
template <class Body>
void on_a_new_thread(const Body& body) {
  std::thread{body}.join();
}

TEST(Context, APrimaryContextIsUniqueAndKnowsItsDevice) {
  for (const device gpu : device::all()) {
    const context_ref primary = gpu.primary_context();
    ASSERT_TRUE(primary);
    EXPECT_EQ(primary, gpu.primary_context());
    EXPECT_EQ(primary.device(), gpu);
    EXPECT_EQ(primary.status(), errc::success);
    EXPECT_EQ(context{gpu}.get(), primary.get()) << "the context that the CUDA runtime uses";
  }
}

TEST(Context, NothingIsCurrentOnANewThread) {
  on_a_new_thread([] {
    EXPECT_FALSE(current_context());
    EXPECT_EQ(current_device(), device{0});
  });
}

TEST(Context, AContextScopeSetsTheContextAndRestoresTheEarlierOne) {
  on_a_new_thread([] {
    const device gpu;
    {
      const context_scope outer{gpu};
      EXPECT_EQ(current_context(), gpu.primary_context());
      {
        const context_scope again{gpu.primary_context()};
        EXPECT_EQ(current_context(), gpu.primary_context());
      }
      EXPECT_EQ(current_context(), gpu.primary_context());
    }
    EXPECT_FALSE(current_context());
  });
}

TEST(Context, AContextScopeRestoresTheContextAfterAnException) {
  on_a_new_thread([] {
    try {
      const context_scope current{device{}};
      throw std::runtime_error{"the body's"};
    } catch (const std::runtime_error&) {
    }
    EXPECT_FALSE(current_context());
  });
}

// Rules 15 and 23: with several devices, each scope restores the previous context.
TEST(Context, ContextScopesOfSeveralDevicesCanBeNested) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  on_a_new_thread([] {
    const context_scope first{device{0}};
    {
      const context_scope second{device{1}};
      EXPECT_EQ(current_device(), device{1});
      {
        const context_scope third{device{0}};
        EXPECT_EQ(current_device(), device{0});
      }
      EXPECT_EQ(current_device(), device{1});
    }
    EXPECT_EQ(current_device(), device{0});
  });
}

// Rule 13: a stream always belongs to the context that it was created in.
TEST(Context, AStreamKeepsTheContextItWasCreatedIn) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream s{device{0}};
  const context_scope elsewhere{device{1}};
  EXPECT_EQ(s.device(), device{0});
  EXPECT_EQ(s.ref().device(), device{0});
  EXPECT_EQ(s.context(), device{0}.primary_context());
  EXPECT_EQ(s.record().context(), device{0}.primary_context());
}

TEST(Context, ANullContextIsRefused) {
  const context_ref none{nullptr};
  EXPECT_FALSE(none);
  EXPECT_EQ(none.status(), errc::invalid_context);
  EXPECT_EQ(result_of([&] { none.sync(); }), errc::invalid_context);
  EXPECT_EQ(result_of([&] { static_cast<void>(none.device()); }), errc::invalid_context);
  EXPECT_EQ(result_of([&] { const context_scope s{none}; }), errc::invalid_context);
  EXPECT_EQ(result_of([&] { const stream s{none}; }), errc::invalid_context);
  EXPECT_EQ(result_of([&] { const event e{none}; }), errc::invalid_context);
  EXPECT_EQ(to_string(none), "no context");
}

// Rule 158.
TEST(Context, AClosedContextReportsClosed) {
  context kept{device{}};
  kept.close();
  kept.close();
  EXPECT_TRUE(kept.closed());
  EXPECT_EQ(kept.status(), errc::closed);
  EXPECT_EQ(result_of([&] { kept.sync(); }), errc::closed);
  EXPECT_EQ(result_of([&] { const context_scope s{kept}; }), errc::closed);
  EXPECT_EQ(to_string(context_ref{kept}), "closed context");
}

TEST(Context, MovingTransfersTheContextReference) {
  context kept{device{}};
  context other = std::move(kept);
  EXPECT_TRUE(kept.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(context_ref{other}, device{}.primary_context());
  kept = std::move(other);
  EXPECT_EQ(kept.status(), errc::success);
  EXPECT_EQ(kept.device(), device{});
}

TEST(Context, ContextSyncWaitsForTheStreamsOfTheContext) {
  const device gpu;
  const stream s{gpu};
  test::gate held{s};
  const test::gate_opener open_when_asked{held, &detail::driver_table::cuEventSynchronize};
  gpu.primary_context().sync();
  EXPECT_TRUE(s.done());
}

// Rule 44: a wait for a stream works in the stream's context, whichever context is current.
TEST(Context, AStreamNeedsNoCurrentContext) {
  const stream s{device{}};
  on_a_new_thread([&] {
    test::gate held{s};
    const event e = s.record();
    EXPECT_FALSE(s.done());
    held.open();
    s.sync();
    EXPECT_TRUE(e.done());
    EXPECT_FALSE(current_context());
  });
}

// A context that the program created works like the primary one.
TEST(Context, StreamsWorkOnAnyContext) {
  on_a_new_thread([] {
    const device gpu;
    const test::created_context own{gpu};
    const context_ref mine = own;
    EXPECT_NE(mine, gpu.primary_context());
    EXPECT_EQ(mine.device(), gpu);
    const stream s{mine};
    const stream elsewhere{gpu};
    EXPECT_EQ(s.context(), mine);
    EXPECT_EQ(s.device(), gpu);
    const event here = s.record();
    EXPECT_EQ(here.context(), mine);
    elsewhere.wait(here);
    elsewhere.wait(s);
    s.wait(elsewhere);
    EXPECT_EQ(result_of([&] { elsewhere.record(here); }),
              errc::invalid_handle);  // rule 36 compares contexts
    s.sync();
    elsewhere.sync();
    EXPECT_FALSE(current_context());
  });
}

}  // namespace
}  // namespace weir
