// SPDX-License-Identifier: Apache-2.0
// stdexec_stop_test.cpp - senders whose receivers request a stop.
#include <weir/interop/stdexec.hpp>

#include <weir/completion/completion.hpp>

#include <stdexec/execution.hpp>

#include <thread>

#include <gtest/gtest.h>

#include "receivers.hpp"
#include "support/completion_modes.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using stdexec::schedule;
using test::gate;
using test::seen;
using test::stoppable_probe;

class SendersStop : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, SendersStop, ::testing::Values(false, true), test::name_of_mode);

TEST_P(SendersStop, AStopEndsTheWaitAndNotTheWork) {
  gate held{s};
  const completion c = s.completion();
  stdexec::inplace_stop_source source;
  seen first;
  seen second;
  seen third;
  auto one = stdexec::connect(as_sender(c), stoppable_probe{&first, source.get_token()});
  auto two =
      stdexec::connect(schedule(stream_scheduler{s}), stoppable_probe{&second, source.get_token()});
  auto three = stdexec::connect(as_sender(c), stoppable_probe{&third, source.get_token()});
  stdexec::start(one);
  stdexec::start(two);
  source.request_stop();
  EXPECT_EQ(first.how.get_future().get(), 's');
  EXPECT_EQ(second.how.get_future().get(), 's');
  stdexec::start(three);  // stopped before the start
  EXPECT_EQ(third.how.get_future().get(), 's');
  EXPECT_EQ(c.status(), errc::not_ready);
  held.open();
  c.wait();
}

TEST_P(SendersStop, AStopAfterTheEndHasNoEffect) {
  stdexec::inplace_stop_source source;
  for (const bool scheduled : {false, true}) {
    gate held{s};
    seen end;
    auto of_completion =
        stdexec::connect(as_sender(s.completion()), stoppable_probe{&end, source.get_token()});
    auto of_stream =
        stdexec::connect(schedule(stream_scheduler{s}), stoppable_probe{&end, source.get_token()});
    scheduled ? stdexec::start(of_stream) : stdexec::start(of_completion);
    held.open();
    EXPECT_EQ(end.how.get_future().get(), 'v');
  }
  source.request_stop();
}

// If the stop and the end of the work coincide, each receiver is still completed once.
TEST_P(SendersStop, AStopMayRaceWithTheEndOfTheWork) {
  constexpr int rounds = 300;
  for (int i = 0; i < rounds; ++i) {
    stdexec::inplace_stop_source source;
    gate held{s};
    seen first;
    seen second;
    auto one =
        stdexec::connect(as_sender(s.completion()), stoppable_probe{&first, source.get_token()});
    auto two = stdexec::connect(schedule(stream_scheduler{s}),
                                stoppable_probe{&second, source.get_token()});
    std::jthread stops{[&] {
      if (i % 3 == 0) held.open();
      source.request_stop();
    }};
    if (i % 3 == 1) held.open();
    stdexec::start(one);
    stdexec::start(two);
    held.open();
    for (seen* end : {&first, &second}) EXPECT_NE(end->how.get_future().get(), 'e');
  }
}

}  // namespace
}  // namespace weir
