// SPDX-License-Identifier: Apache-2.0
// event_nodes_test.cpp - nodes that record events and wait for them.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/event_nodes.hpp>
#include <weir/graph/nodes/host_function_node.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::gate;
using test::result_of;

class EventNodes : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  stream t{gpu};
  event e{gpu};
  event f{gpu};
  graph g;
};

TEST_F(EventNodes, EachLaunchRecordsTheEvent) {
  const event_record_node node = g.add(event_record_parameters{e});
  EXPECT_EQ(node.event(), e.ref());
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  s.sync();
  EXPECT_TRUE(e.done());
  gate held{s};
  exec.launch(s);
  EXPECT_FALSE(e.done());
  t.wait(e);
  EXPECT_FALSE(t.done());
  held.open();
  t.sync();
  EXPECT_TRUE(e.done());
}

TEST_F(EventNodes, AWaitNodeWaitsForTheRecordPendingAtItsLaunch) {
  bool ran = false;
  const event_wait_node wait = g.add(event_wait_parameters{e});
  EXPECT_EQ(wait.event(), e.ref());
  static_cast<void>(g.add(host_function_parameters{[&] { ran = true; }}, {wait}));
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  s.sync();
  EXPECT_TRUE(ran) << "an event without a record does not block";
  gate held{t};
  t.record(e);
  exec.launch(s);
  EXPECT_FALSE(s.done());
  held.open();
  s.sync();
}

TEST_F(EventNodes, EventNodesAreChangedInAGraphAndInAnExecutable) {
  const event_record_node record = g.add(event_record_parameters{e});
  const event_wait_node wait = g.add(event_wait_parameters{e});
  graph_exec exec = g.instantiate();
  record.set(event_record_parameters{f});
  wait.set(event_wait_parameters{f});
  EXPECT_EQ(record.event(), f.ref());
  EXPECT_EQ(wait.event(), f.ref());
  exec.set(record, event_record_parameters{f});
  exec.set(wait, wait.parameters());
  gate held{s};
  exec.launch(s);
  EXPECT_TRUE(e.done()) << "e is not recorded any more";
  EXPECT_FALSE(f.done());
  held.open();
  s.sync();
  exec.set(wait, event_wait_parameters{e});
  gate other{t};
  t.record(e);
  exec.launch(s);
  EXPECT_FALSE(s.done());
  other.open();
  s.sync();
}

TEST_F(EventNodes, RecordNodesOfTimedEventsMeasureTime) {
  const timed_event from{gpu};
  const timed_event to{gpu};
  const event_record_node a = g.add(event_record_parameters{from});
  static_cast<void>(g.add(event_record_parameters{to.ref()}, {a}));
  g.instantiate().launch(s);
  EXPECT_GE(sync_elapsed(from, to), 0.0f);
}

TEST_F(EventNodes, NodesKeepEventsThatAreMovedOrSharedIntoThem) {
  std::optional<graph_exec> exec;
  const auto shared = std::make_shared<event>(gpu);
  {
    graph mine;
    const event_record_node a = mine.add(event_record_parameters{event{gpu}});
    static_cast<void>(mine.add(event_wait_parameters{event_ref{a.event()}}, {a}));
    static_cast<void>(mine.add(event_record_parameters{shared}, {a}));
    exec = mine.instantiate();
  }
  drain_deferred();
  EXPECT_EQ(shared.use_count(), 2);
  exec->launch(s);
  exec->launch(s);
  s.sync();
  EXPECT_TRUE(shared->done());
}

TEST_F(EventNodes, ReturnedParametersShareOwnershipOfTheKeptEvent) {
  const event_record_node a = g.add(event_record_parameters{event{gpu}});
  const event_wait_node b = g.add(event_wait_parameters{event{gpu}}, {a});
  a.set(a.parameters());
  b.set(b.parameters());
  EXPECT_TRUE(*detail::node_access::owners_in_exec(a.parameters(), {}).first);
  EXPECT_TRUE(*detail::node_access::owners_in_exec(b.parameters(), {}).first);
  drain_deferred();
  g.instantiate().launch(s);
  s.sync();
}

TEST_F(EventNodes, InvalidEventsAndForeignNodesAreRefused) {
  EXPECT_EQ(result_of([] { static_cast<void>(event_record_parameters{std::shared_ptr<event>{}}); }),
            errc::invalid_value);
  graph other;
  const event_record_node record = g.add(event_record_parameters{e});
  const event_record_node theirs = other.add(event_record_parameters{e});
  graph_exec exec = g.instantiate();
  const event_ref none{static_cast<CUevent_st*>(nullptr)};
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(event_record_parameters{none})); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(event_wait_parameters{none})); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { record.set(event_record_parameters{none}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { exec.set(record, event_record_parameters{none}); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { exec.set(theirs, event_record_parameters{f}); }), errc::invalid_value);
  EXPECT_EQ(g.node_count(), 1u);
  event gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(event_record_parameters{gone}); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(event_wait_parameters{gone}); }), errc::closed);
}

}  // namespace
}  // namespace weir
