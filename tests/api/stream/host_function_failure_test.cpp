// SPDX-License-Identifier: Apache-2.0
// host_function_failure_test.cpp - exceptions of host functions, thrown by the next sync() of the
// stream.
#include <weir/core/deferred.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::gate;
using test::unhandled_errors;

class HostFunctionFailure : public ::testing::Test {
 protected:
  // Returns the message of the std::runtime_error that the call throws; empty if it throws none.
  template <class Call>
  static std::string thrown_by(const Call& call) {
    try {
      call();
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return {};
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

// Rule 73.
TEST_F(HostFunctionFailure, TheNextSyncThrowsTheExceptionOnce) {
  pinned_buffer<std::uint32_t> word{1};
  word[0] = 0;
  launch_host(s, [] { throw std::runtime_error{"thrown inside"}; });
  fill(s, word, 1u);
  EXPECT_EQ(thrown_by([&] { s.sync(); }), "thrown inside");
  EXPECT_EQ(word[0], 1u) << "later work has run";
  EXPECT_EQ(thrown_by([&] { s.sync(); }), "") << "the exception is thrown once";
}

TEST_F(HostFunctionFailure, OnlyASyncOfItsOwnStreamThrowsTheException) {
  launch_host(s, [] { throw std::runtime_error{"of s"}; });
  t.wait(s);
  t.sync();
  EXPECT_TRUE(s.done());
  EXPECT_EQ(thrown_by([&] { s.sync(); }), "of s");
}

TEST_F(HostFunctionFailure, TheFirstExceptionIsThrownAndLaterOnesReachTheErrorHook) {
  const unhandled_errors unhandled;
  launch_host(s, [] { throw std::runtime_error{"first"}; });
  add_callback(s, [](errc) { throw std::runtime_error{"second"}; });
  launch_host_once(s, [] { throw 3; });  // not derived from std::exception
  EXPECT_EQ(thrown_by([&] { s.sync(); }), "first");
  ASSERT_EQ(unhandled.count(), 2u);
  EXPECT_EQ(thrown_by([&] { std::rethrow_exception(unhandled.all()[0]); }), "second");
}

TEST_F(HostFunctionFailure, AWaitWithADeadlineThrowsTheException) {
  launch_host(s, [] { throw std::runtime_error{"late"}; });
  EXPECT_EQ(thrown_by([&] { EXPECT_TRUE(s.sync_for(std::chrono::hours{1})); }), "late");
}

TEST_F(HostFunctionFailure, AnUncollectedExceptionReachesTheErrorHook) {
  const unhandled_errors unhandled;
  stream gone{gpu};
  launch_host(gone, [] { throw std::runtime_error{"nobody's"}; });
  const event behind = gone.record();
  behind.sync();
  gone.close();
  ASSERT_EQ(unhandled.count(), 1u);
  EXPECT_EQ(thrown_by([&] { std::rethrow_exception(unhandled.all()[0]); }), "nobody's");
}

// Rule 17: a stream that gets the handle of a destroyed one is a different stream.
TEST_F(HostFunctionFailure, ALaterStreamDoesNotInheritAnException) {
  const unhandled_errors unhandled;
  for (int i = 0; i < 20; ++i) {
    stream gone{gpu};
    gate held{gone};
    launch_host(gone, [] { throw std::runtime_error{"of the dead"}; });
    const event behind = gone.record();
    gone.close();
    stream next{gpu};  // may have the old handle
    held.open();
    behind.sync();
    EXPECT_EQ(thrown_by([&] { next.sync(); }), "");
  }
  EXPECT_EQ(unhandled.count(), 20u);
}

TEST_F(HostFunctionFailure, ShutdownThrowsTheExceptionAndClosesTheStream) {
  stream ending{gpu};
  launch_host(ending, [] { throw std::runtime_error{"at the end"}; });
  EXPECT_EQ(thrown_by([&] { ending.shutdown(); }), "at the end");
  EXPECT_TRUE(ending.closed());
}

}  // namespace
}  // namespace weir
