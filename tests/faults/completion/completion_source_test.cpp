// completion_source_test.cpp - the ends of events, launches and values while the driver refuses.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/fill.hpp>
#include <weir/completion/future.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
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
#include "support/gate.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using test::answer;
using test::await;
using test::failure_of;
using test::fate;
using test::gate;
using test::witness;

class CompletionSourceFaults : public test::CompletionFaults {};

TEST_F(CompletionSourceFaults, OfAnEvent) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    std::deque<answer> all;
    std::optional<event> e;
    gate held{s};
    if (const auto failure = failure_of([&] { e.emplace(s.record()); })) {
      EXPECT_EQ(failure->call(), failing);
      return;
    }
    const auto c = made_or_told([&] { return e->completion(); }, failing);
    if (c) {
      await(*c, all.emplace_back());
      await(*c, all.emplace_back());
    }
    e.reset();
    held.open();
    expect_told_once(all);
  });
}

// An error tells whether the graph was launched all the same.
TEST_F(CompletionSourceFaults, OfALaunch) {
  pinned_buffer<int> x{1};
  stream t{gpu};
  const graph g = capture(t, [&](capture_scope& c) { fill(c.stream(), x, 3); });
  const graph_exec run = g.instantiate();
  int refused_after_the_launch = 0;
  with_each_call_failing([&](const stream& s, std::string_view failing) {
    std::deque<answer> all;
    x.data()[0] = 0;
    gate held{s};
    bool launched = true;
    const auto c = made_or_told(
        [&] {
          try {
            return run.launch_async(s);
          } catch (const error& e) {
            launched = e.advice().find("has been queued") != std::string::npos;
            throw;
          }
        },
        failing);
    if (c) await(*c, all.emplace_back());
    const auto d = made_or_told([&] { return run.upload_async(s); }, failing);
    if (d) await(*d, all.emplace_back());
    held.open();
    expect_told_once(all);
    sync(s);
    EXPECT_EQ(x.data()[0], launched ? 3 : 0) << "after a failure of " << failing;
    refused_after_the_launch += launched && !c ? 1 : 0;
  });
  EXPECT_GT(refused_after_the_launch, 0);
}

// The value is destroyed once the work is done, or when nothing can be told about that.
TEST_F(CompletionSourceFaults, OfAValue) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    fate f;
    int begun = 0;
    std::deque<answer> all;
    {
      std::vector<future<witness>> values;
      for (int i = 0; i < 4; ++i) {
        const auto failure = failure_of([&] {
          values.push_back(s.enqueue_async([&] {
            ++begun;
            return witness{f};
          }));
        });
        if (failure) {
          EXPECT_EQ(failure->result(), errc::system_not_ready);
          EXPECT_EQ(failure->call(), failing);
        }
      }
      if (!values.empty()) await(values.front().completion(), all.emplace_back());
    }
    expect_told_once(all);
    while (f.destructions != begun) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace weir
