// SPDX-License-Identifier: Apache-2.0
// completion_source_test.cpp - completions of events, launches and values with failing driver
// calls.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/core/error.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "faults/completion/completion_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::await;
using test::closure_probe;
using test::closure_stats;
using test::failure_of;
using test::gate;
using test::recorded_outcome;

class CompletionSourceFaults : public test::CompletionFaults {};

TEST_F(CompletionSourceFaults, AwaitersOfAnEventAreNotifiedOnceIfACallFails) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    std::deque<recorded_outcome> all;
    std::optional<event> e;
    gate held{s};
    if (const auto failure = failure_of([&] { e.emplace(s.record()); })) {
      EXPECT_EQ(failure->call(), failing);
      return;
    }
    const auto c = make_or_expect_failure([&] { return e->completion(); }, failing);
    if (c) {
      await(*c, all.emplace_back());
      await(*c, all.emplace_back());
    }
    e.reset();
    held.open();
    expect_completed_once(all);
  });
}

// The error says whether the graph was launched before the failure.
TEST_F(CompletionSourceFaults, AFailedLaunchAsyncReportsWhetherTheGraphWasLaunched) {
  pinned_buffer<int> x{1};
  stream t{gpu};
  const graph g = capture(t, [&](capture_scope& c) { fill(c.stream(), x, 3); });
  const graph_exec run = g.instantiate();
  int refused_after_the_launch = 0;
  with_each_call_failing([&](const stream& s, std::string_view failing) {
    std::deque<recorded_outcome> all;
    x.data()[0] = 0;
    gate held{s};
    bool launched = true;
    const auto c = make_or_expect_failure(
        [&] {
          try {
            return run.launch_with_completion(s);
          } catch (const error& e) {
            launched = e.hint().find("has been queued") != std::string::npos;
            throw;
          }
        },
        failing);
    if (c) await(*c, all.emplace_back());
    const auto d = make_or_expect_failure([&] { return run.upload_with_completion(s); }, failing);
    if (d) await(*d, all.emplace_back());
    held.open();
    expect_completed_once(all);
    sync(s);
    EXPECT_EQ(x.data()[0], launched ? 3 : 0) << "after a failure of " << failing;
    refused_after_the_launch += launched && !c ? 1 : 0;
  });
  EXPECT_GT(refused_after_the_launch, 0);
}

// The value is destroyed when the work is done, or at once if no completion can be recorded.
TEST_F(CompletionSourceFaults, AFutureValueIsDestroyedOnceIfACallFails) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    closure_stats f;
    int started = 0;
    std::deque<recorded_outcome> all;
    {
      std::vector<future<closure_probe>> values;
      for (int i = 0; i < 4; ++i) {
        const auto failure = failure_of([&] {
          values.push_back(s.enqueue([&] {
            ++started;
            return closure_probe{f};
          }));
        });
        if (failure) {
          EXPECT_EQ(failure->result(), errc::system_not_ready);
          EXPECT_EQ(failure->call(), failing);
        }
      }
      if (!values.empty()) await(values.front().completion(), all.emplace_back());
    }
    expect_completed_once(all);
    while (f.destructions != started) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace weir
