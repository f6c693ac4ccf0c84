// graphs/model.hpp - captures and graphs as the rules (tests/conformance/rules.md) have them: what each call answers, and
// what there is afterwards. Written for this test, from the rules; it knows nothing of a driver.
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

// Objects have numbers, each kind its own, never the same for two. -1 is no object.
using number = int;

// What a call answers. Of some the rules leave open which of two it is.
struct answer {
  CUresult code;
  CUresult or_else;
  answer(CUresult only) : code{only}, or_else{only} {}
  answer(CUresult one, CUresult other) : code{one}, or_else{other} {}
  [[nodiscard]] bool may_be(CUresult r) const noexcept { return r == code || r == or_else; }
};

enum class stream_kind { legacy, per_thread, blocking, non_blocking };

struct stream_state {
  stream_kind kind;
  bool live = true;
  number capture = -1;                   // that it is in
  history::vertex last = history::none;  // of what runs
};

struct event_state {
  bool of_nodes;  // recorded by nodes of graphs, never plainly in a capture
  bool live = true;
  bool recorded = false;
  number capture = -1;  // that it was last recorded in, also if that has ended
  history::vertex at = history::none;
  bool may_be_pending = false;
};

enum class node_kind { empty, host, set, copy, record, wait, child };

struct node_state {
  number graph;
  node_kind kind;
  work what{};                   // of a host function, set or copy
  number event = -1;             // of a record or wait
  number inside = -1;            // the child graph
  bool captured = false;         // made by a capture
  std::vector<number> before{};  // in the order in which they were named
  number cloned_from = -1;
  bool live = true;
};

struct graph_state {
  number parent = -1;  // the graph whose node it is part of
  number capture = -1;
  bool live = true;
  bool edited = false;  // edges or nodes were taken out
  std::vector<number> nodes{};
};

struct capture_state {
  number origin, graph;
  unsigned thread;
  CUstreamCaptureMode mode;
  bool given;  // to a graph that was there
  bool open = true, valid = true;
  std::map<number, std::vector<number>> frontiers{};  // by stream, also of streams that have ended
  std::map<number, std::vector<number>> recorded{};   // by event
  std::map<number, std::set<number>> owed{};  // by stream: what it has added or waited for, and has to be joined
  std::set<number> left{};                    // what the first stream had come to when it was sent elsewhere
};

// A graph as it was when it was instantiated, and what was changed since.
struct shape {
  struct entry {
    number origin;  // -1 where it is not known any more which node it was
    node_kind kind;
    work what;
    number event;
    bool captured, enabled = true;
    std::vector<std::size_t> before{};
    std::shared_ptr<shape> inside{};
  };
  std::vector<entry> entries;
  bool edited = false;
};

struct exec_state {
  std::shared_ptr<shape> what;
  bool live = true;
  bool unknown = false;  // it cannot be told any more what a launch does
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
  std::vector<CUstreamCaptureMode> modes;  // of the threads
  history ran;

  stream_state& stream(number n) { return streams[static_cast<std::size_t>(n)]; }
  event_state& event(number n) { return events[static_cast<std::size_t>(n)]; }
  node_state& node(number n) { return nodes[static_cast<std::size_t>(n)]; }
  graph_state& graph(number n) { return graphs[static_cast<std::size_t>(n)]; }
  capture_state& capture(number n) { return captures[static_cast<std::size_t>(n)]; }
  exec_state& exec(number n) { return execs[static_cast<std::size_t>(n)]; }
  capture_state* capture_of(number s) { return stream(s).capture < 0 ? nullptr : &capture(stream(s).capture); }

  // Captures (model_capture.cpp).
  answer begin(unsigned thread, number s, CUstreamCaptureMode mode);
  answer begin_to(unsigned thread, number s, number g, std::span<const number> behind, CUstreamCaptureMode mode);
  answer end(unsigned thread, number s, bool wanted, number& made);
  answer ask_status(number s, CUstreamCaptureStatus& status);
  answer update_frontier(number s, std::span<const number> behind, unsigned flags);
  void end_stream(number s);

  // Streams and events in and out of captures (model_stream.cpp). `made` is the node, or -1.
  answer submit(number s, const work& what, number& made);
  answer record(number e, number s, unsigned flags, number& made);
  answer wait(number s, number e, unsigned flags, number& made);
  answer wait_for_no_event(number s);
  answer look_at_stream(unsigned thread, number s);
  answer look_at_event(unsigned thread, number e);
  answer ask_flags(number s);
  answer unsafe(unsigned thread);
  answer look_at_context();
  [[nodiscard]] bool idle(number s);
  void settled();

  // Graphs (model_graph.cpp).
  number make_graph(number parent = -1);
  number add_node(number g, node_kind kind, const work& what, number event, std::span<const number> behind);
  answer add_child(number g, number child, std::span<const number> behind, bool move, number& made);
  void end_node(number n);
  answer destroy_node(number n);
  void end_graph(number g);
  answer destroy_graph(number g);
  number clone(number g, number parent = -1);
  [[nodiscard]] number counterpart(number n, number g) const;
  answer add_edges(number g, std::span<const number> from, std::span<const number> to);
  answer remove_edges(number g, std::span<const number> from, std::span<const number> to);
  [[nodiscard]] std::vector<number> after(number n) const;
  [[nodiscard]] number root_of(number g) const;
  [[nodiscard]] bool is_named(number event) const;  // by a node, or by an executable

  // Executables (model_exec.cpp).
  [[nodiscard]] std::shared_ptr<shape> shape_of(number g);
  answer instantiate(unsigned thread, number g, number& made);
  answer destroy_exec(unsigned thread, number x);
  answer launch(number x, number s);
  answer upload(number s);
  // Of those with two answers updated() is to be told which it was.
  answer update(number x, number g);
  void updated(number x, number g, bool success);
  [[nodiscard]] shape::entry* find(number x, number n);

 private:
  CUresult use(number s);  // as every call that names a stream does
  CUresult use_for_work(number s);
  void break_all_of(const auto& condition, bool& any);
  bool blocking_stream_captures();
  void close(capture_state& c, bool keep);
  [[nodiscard]] bool joined(const capture_state& c);
  number capture_node(number s, node_kind kind, const work& what, number event);
  history::vertex run(number s, const work& what, history::vertex also = history::none);
  history::vertex run(const shape& what, history::vertex behind, const shape& whole, std::map<number, int>& records);
};

}  // namespace weir::graphs
