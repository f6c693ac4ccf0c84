// SPDX-License-Identifier: Apache-2.0
// for_each_failing_call fails each driver call of its body in turn.
#include <weir/testing/for_each_failing_call.hpp>

#include "support/errors.hpp"
#include "support/unhandled_errors.hpp"

#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>
#include <weir/testing/call_counts.hpp>

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace weir;
using test::result_of;
using weir::testing::failing_call;
using weir::testing::for_each_failing_call;

// Adds the name of the failed call to a list when the body ends, also by an exception.
class name_recorder {
 public:
  name_recorder(std::multiset<std::string>& names, const failing_call& failing)
      : names_{names}, failing_{failing} {}
  ~name_recorder() {
    if (failing_.has_failed()) names_.emplace(failing_.name());
  }

 private:
  std::multiset<std::string>& names_;
  const failing_call& failing_;
};

TEST(ForEachFailingCall, EachCallOfTheBodyFailsOnce) {
  const test::unhandled_errors errors_of_destructors;
  const stream s{device{}};
  const event e{device{}};
  std::multiset<std::string> failed;
  const unsigned runs = for_each_failing_call([&](const failing_call& failing) {
    const name_recorder recorder{failed, failing};
    s.record(e);
    s.wait(e);
    e.sync();
  });
  EXPECT_EQ(failed.count("cuEventRecord"), 1u);
  EXPECT_EQ(failed.count("cuStreamWaitEvent"), 1u);
  EXPECT_EQ(failed.count("cuEventSynchronize"), 1u);
  EXPECT_EQ(runs, failed.size());
}

TEST(ForEachFailingCall, ABodyWithoutCallsRunsOnce) {
  int runs = 0;
  EXPECT_EQ(for_each_failing_call([&] { ++runs; }), 0u);
  EXPECT_EQ(runs, 1);
}

TEST(ForEachFailingCall, TheNumberAndTheNameIdentifyTheCall) {
  const device gpu;
  unsigned number = 0;
  for_each_failing_call([&](const failing_call& failing) {
    EXPECT_EQ(failing.number(), ++number);
    EXPECT_FALSE(failing.has_failed());
    EXPECT_EQ(failing.name(), "");
    const event created{gpu};
  });
  EXPECT_GE(number, 2u);
}

TEST(ForEachFailingCall, CallsOfOtherThreadsDoNotFail) {
  const device gpu;
  EXPECT_EQ(for_each_failing_call([&] { std::thread{[&] { const event created{gpu}; }}.join(); }),
            0u);
}

TEST(ForEachFailingCall, AnErrorWithoutAFailingCallIsThrown) {
  EXPECT_EQ(result_of([] {
              for_each_failing_call([] {
                throw error{errc::closed, "test", "", "", call_site::current()};
              });
            }),
            errc::closed);
}

TEST(ForEachFailingCall, OtherExceptionsEndTheRuns) {
  const device gpu;
  const auto body = [&] {
    try {
      const event created{gpu};
    } catch (const error&) {
      throw std::logic_error{"lost"};
    }
  };
  EXPECT_THROW(for_each_failing_call(body), std::logic_error);
}

// The memory of a failed copy is not lost: each run frees what it has allocated.
TEST(ForEachFailingCall, ACopyThatFailsLosesNothing) {
  const device gpu;
  for_each_failing_call([&] {
    const stream s{gpu};
    const pinned_buffer<int> from{100};
    pinned_buffer<int> to{100};
    copy(s, from, to);
    s.sync();
  });
}

}  // namespace
