// SPDX-License-Identifier: Apache-2.0
// stream_scope_test.cpp - scopes that make a stream current: what they restore, and which waits
// they queue.
#include <weir/device/context.hpp>
#include <weir/stream/current_stream.hpp>

#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "current_stream_fixture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;

class StreamScope : public test::current_stream_fixture {};

// Rule 24.
TEST_F(StreamScope, AScopeRestoresTheStreamSetByUse) {
  on_a_new_thread([&] {
    set_current_stream(a);
    {
      const stream_scope scope{b};
      EXPECT_EQ(current_stream(), b.ref());
    }
    EXPECT_EQ(current_stream(), a.ref());
  });
}

// Rule 25.
TEST_F(StreamScope, AUseInsideAScopeEndsWithTheScope) {
  on_a_new_thread([&] {
    {
      const stream_scope scope{a};
      set_current_stream(b);
      EXPECT_EQ(current_stream(), b.ref());
    }
    EXPECT_EQ(current_stream(), default_stream());
  });
}

// Rule 26.
TEST_F(StreamScope, ScopesUnwindWithExceptions) {
  on_a_new_thread([&] {
    try {
      const stream_scope outer{a};
      const stream_scope inner{b};
      throw std::runtime_error{"the body's"};
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(current_stream(), default_stream());
  });
}

// Rules 24 to 26: for any nesting, the current stream is the top of a stack.
RC_GTEST_PROP(StreamScopeProperty, AnyNestingRestoresTheCurrentStream, ()) {
  const device gpu;
  static const auto* const streams = [] {
    auto* made = new std::vector<stream>;
    for (int i = 0; i < 4; ++i) made->emplace_back(device{});
    return made;
  }();
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9));
  bool right = true;
  std::thread{[&] {
    const context_scope current{gpu};
    std::vector<stream_ref> expected{default_stream()};
    std::vector<std::unique_ptr<stream_scope>> scopes;
    for (const int step : steps) {
      if (step == 8) {  // leave the innermost scope
        if (scopes.empty()) continue;
        scopes.pop_back();
        expected.pop_back();
      } else if (const stream_ref chosen = (*streams)[static_cast<std::size_t>(step % 4)];
                 step < 4) {
        scopes.push_back(std::make_unique<stream_scope>(chosen));
        expected.push_back(chosen);
      } else {
        set_current_stream(chosen);
        expected.back() = chosen;
      }
      right = right && current_stream() == expected.back();
    }
    while (!scopes.empty()) {
      scopes.pop_back();
      expected.pop_back();
      right = right && current_stream() == expected.back();
    }
  }}.join();
  RC_ASSERT(right);
}

// Rule 29.
TEST_F(StreamScope, AScopeOfNoStreamDoesNothing) {
  on_a_new_thread([&] {
    set_current_stream(a);
    const stream_ref* const none = nullptr;
    {
      const stream_scope scope{none};
      EXPECT_EQ(current_stream(), a.ref());
      set_current_stream(b);
    }
    EXPECT_EQ(current_stream(), b.ref());
    const stream_ref some = a;
    const stream_scope scope{&some};
    EXPECT_EQ(current_stream(), a.ref());
  });
}

// Rule 30.
TEST_F(StreamScope, EntryAndExitWaitOnTheDeviceOnlyIfTheOptionsRequestIt) {
  on_a_new_thread([&] {
    set_current_stream(a);
    {
      gate held{a};
      const stream_scope scope{b};
      b.sync();  // nothing blocks it
    }
    {
      gate held{a};
      {
        const stream_scope scope{b, {.wait_on_entry = true}};  // returns, as the host does not wait
        EXPECT_FALSE(b.done());
      }
      held.open();
      b.sync();
      a.sync();
    }
    gate held{b};
    {
      const stream_scope scope{b, {.wait_on_exit = true}};
      EXPECT_TRUE(a.done());
    }
    EXPECT_FALSE(a.done());
    held.open();
    a.sync();
    EXPECT_TRUE(b.done());
  });
}

}  // namespace
}  // namespace weir
