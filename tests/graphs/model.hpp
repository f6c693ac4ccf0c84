// SPDX-License-Identifier: Apache-2.0
// graphs/model.hpp - captures and graphs as the rules (tests/conformance/rules.md) specify them:
// the result of each call, and the state afterwards. Written for this test from the rules alone,
// independent of any driver.
#pragma once

#include "driver/abi.hpp"
#include "graphs/history.hpp"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weir::graphs {

using namespace weir::abi;

// Objects have unique numbers within their kind, never reused. -1 is no object.
using object_id = int;

// The result of a call. Sometimes the rules allow either of two results.
struct expected_result {
  CUresult code;
  CUresult alternative;
  expected_result(CUresult only) : code{only}, alternative{only} {}
  expected_result(CUresult one, CUresult other) : code{one}, alternative{other} {}
  [[nodiscard]] bool allows(CUresult r) const noexcept { return r == code || r == alternative; }
};

enum class stream_kind { legacy, per_thread, blocking, non_blocking };

struct stream_state {
  stream_kind kind;
  bool is_alive = true;
  object_id capture = -1;                // that it takes part in
  history::vertex last = history::none;  // the last that runs
};

struct event_state {
  bool of_nodes;  // recorded by nodes of graphs, never directly in a capture
  bool is_alive = true;
  bool recorded = false;
  object_id capture = -1;  // that it was last recorded in, also after that has ended
  history::vertex at = history::none;
  bool may_be_pending = false;
};

enum class node_kind { empty, host, set, copy, record, wait, child };

struct node_state {
  object_id graph;
  node_kind kind;
  work what{};                      // for a host function, memset or copy
  object_id event = -1;             // for a record or wait
  object_id inside = -1;            // the child graph
  bool captured = false;            // created by a capture
  std::vector<object_id> before{};  // in the order of the call
  object_id cloned_from = -1;
  bool is_alive = true;
};

struct graph_state {
  object_id parent = -1;  // the graph that contains the node with this child graph
  object_id capture = -1;
  bool is_alive = true;
  bool edited = false;  // edges or nodes were removed
  std::vector<object_id> nodes{};
};

struct capture_state {
  object_id origin, graph;
  unsigned thread;
  CUstreamCaptureMode mode;
  bool to_existing_graph;  // to an existing graph
  bool open = true, valid = true;
  std::map<object_id, std::vector<object_id>>
      frontiers{};  // by stream, including streams that are destroyed
  std::map<object_id, std::vector<object_id>> recorded{};  // by event
  std::map<object_id, std::set<object_id>>
      unjoined{};  // by stream: work that it added or waited for, which must be joined
  std::set<object_id>
      dropped_by_origin{};  // the first stream's frontier when its dependencies were replaced
};

// A graph at its instantiation, and later changes.
struct shape {
  struct entry {
    object_id origin;  // -1 if its node is no longer known
    node_kind kind;
    work what;
    object_id event;
    bool captured, enabled = true;
    std::vector<std::size_t> before{};
    std::shared_ptr<shape> inside{};
  };
  std::vector<entry> entries;
  bool edited = false;
};

struct exec_state {
  std::shared_ptr<shape> what;
  bool is_alive = true;
  bool unknown = false;  // the effect of a launch is no longer known
  history::vertex last = history::none;
};

class model {
 public:
  std::deque<stream_state> streams;
  std::deque<event_state> events;
  std::deque<node_state> nodes;
  std::deque<graph_state> graphs;
  std::deque<capture_state> captures;
  std::deque<exec_state> execs;
  std::vector<CUstreamCaptureMode> modes;  // for each thread
  history executed;

  stream_state& stream(object_id n) { return streams[static_cast<std::size_t>(n)]; }
  event_state& event(object_id n) { return events[static_cast<std::size_t>(n)]; }
  node_state& node(object_id n) { return nodes[static_cast<std::size_t>(n)]; }
  graph_state& graph(object_id n) { return graphs[static_cast<std::size_t>(n)]; }
  capture_state& capture(object_id n) { return captures[static_cast<std::size_t>(n)]; }
  exec_state& exec(object_id n) { return execs[static_cast<std::size_t>(n)]; }
  capture_state* capture_of(object_id s) {
    return stream(s).capture < 0 ? nullptr : &capture(stream(s).capture);
  }

  // Captures (model_capture.cpp).
  expected_result begin(unsigned thread, object_id s, CUstreamCaptureMode mode);
  expected_result begin_to(unsigned thread, object_id s, object_id g,
                           std::span<const object_id> behind, CUstreamCaptureMode mode);
  expected_result end(unsigned thread, object_id s, bool wanted, object_id& made);
  expected_result query_status(object_id s, CUstreamCaptureStatus& status);
  expected_result update_frontier(object_id s, std::span<const object_id> behind, unsigned flags);
  void end_stream(object_id s);

  // Streams and events, in captures and outside (model_stream.cpp). `made` is the node, or -1.
  expected_result submit(object_id s, const work& what, object_id& made);
  expected_result record(object_id e, object_id s, unsigned flags, object_id& made);
  expected_result wait(object_id s, object_id e, unsigned flags, object_id& made);
  expected_result wait_for_no_event(object_id s);
  expected_result query_stream(unsigned thread, object_id s);
  expected_result query_event(unsigned thread, object_id e);
  expected_result query_flags(object_id s);
  expected_result call_unsafe(unsigned thread);
  expected_result synchronize_context();
  [[nodiscard]] bool idle(object_id s);
  void complete_all();

  // Graphs (model_graph.cpp).
  object_id make_graph(object_id parent = -1);
  object_id add_node(object_id g, node_kind kind, const work& what, object_id event,
                     std::span<const object_id> behind);
  expected_result add_child(object_id g, object_id child, std::span<const object_id> behind,
                            bool move, object_id& made);
  void end_node(object_id n);
  expected_result destroy_node(object_id n);
  void end_graph(object_id g);
  expected_result destroy_graph(object_id g);
  object_id clone(object_id g, object_id parent = -1);
  [[nodiscard]] object_id counterpart(object_id n, object_id g) const;
  expected_result add_edges(object_id g, std::span<const object_id> from,
                            std::span<const object_id> to);
  expected_result remove_edges(object_id g, std::span<const object_id> from,
                               std::span<const object_id> to);
  [[nodiscard]] std::vector<object_id> after(object_id n) const;
  [[nodiscard]] object_id root_of(object_id g) const;
  [[nodiscard]] bool is_referenced(object_id event) const;  // by a node, or by an executable

  // Executables (model_exec.cpp).
  [[nodiscard]] std::shared_ptr<shape> shape_of(object_id g);
  expected_result instantiate(unsigned thread, object_id g, object_id& made);
  expected_result destroy_exec(unsigned thread, object_id x);
  expected_result launch(object_id x, object_id s);
  expected_result upload(object_id s);
  // If the rules allow two results, call updated() with the actual one.
  expected_result update(object_id x, object_id g);
  void updated(object_id x, object_id g, bool success);
  [[nodiscard]] shape::entry* find(object_id x, object_id n);

 private:
  CUresult use(object_id s);  // called by every call that names a stream
  CUresult use_for_work(object_id s);
  void break_all_of(const auto& condition, bool& any);
  bool blocking_stream_captures();
  void close(capture_state& c, bool keep);
  [[nodiscard]] bool joined(const capture_state& c);
  object_id capture_node(object_id s, node_kind kind, const work& what, object_id event);
  history::vertex run(object_id s, const work& what, history::vertex also = history::none);
  history::vertex run(const shape& what, history::vertex behind, const shape& whole,
                      std::map<object_id, int>& records);
};

}  // namespace weir::graphs
