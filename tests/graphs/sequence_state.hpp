// SPDX-License-Identifier: Apache-2.0
// graphs/sequence_state.hpp - one sequence: the model's state, the driver's handles, and the
// choices of the next call.
#pragma once

#include "graphs/call_batch.hpp"
#include "graphs/driver_under_test.hpp"
#include "graphs/model.hpp"
#include "sequences/choice_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::graphs {

using sequences::choice_source;

// With other sequences running, no call may query or break what is not the sequence's own.
enum class concurrency_mode { exclusive, concurrent };

inline constexpr std::size_t most_nodes = 40;  // of a graph

class sequence_state {
 public:
  sequence_state(driver_under_test& in, concurrency_mode concurrency);

  driver_under_test& target;
  const concurrency_mode concurrency;
  model m;
  choice_source d{0};

  std::deque<CUstream> streams;
  std::deque<CUevent> tails;  // recorded at the end of each stream's work
  std::deque<CUevent> events;
  std::deque<CUgraph> graphs;
  std::deque<CUgraphNode> nodes;
  std::deque<CUgraphExec> execs;

  [[nodiscard]] const detail::driver_table& driver() const { return target.driver(); }
  template <class Handle>
  [[nodiscard]] static Handle& at(std::deque<Handle>& of, object_id n) {
    if (of.size() <= static_cast<std::size_t>(n)) of.resize(static_cast<std::size_t>(n) + 1);
    return of[static_cast<std::size_t>(n)];
  }

  // Makes a call on a thread and compares its result with the model. Between begin_burst() and
  // end_burst() calls are collected and then made concurrently, in order for each thread. Throws a
  // finding. Opens the gate if a call waits for blocked streams.
  void call(unsigned thread, std::string what, expected_result expected,
            std::function<CUresult()> make);
  void log_line(std::string_view line) { target.calls().line(line); }
  void begin_burst() { burst_.emplace(); }
  void end_burst();
  [[nodiscard]] CUresult last() const noexcept { return last_; }

  // Choose objects; -1 if there are none.
  template <class Objects, class Condition>
  [[nodiscard]] object_id any(const Objects& of, Condition&& suits) {
    std::vector<object_id> found;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i].is_alive && suits(static_cast<object_id>(i)))
        found.push_back(static_cast<object_id>(i));
    }
    return found.empty() ? -1 : found[d.below(static_cast<unsigned>(found.size()))];
  }
  [[nodiscard]] object_id any_stream(bool capturing);  // a node in a valid capture, or any
  [[nodiscard]] object_id any_event(bool of_nodes);
  [[nodiscard]] object_id any_graph();
  [[nodiscard]] object_id known_graph();  // one of those with a known handle
  [[nodiscard]] object_id any_exec();
  [[nodiscard]] object_id any_node(object_id g);  // with a known handle
  [[nodiscard]] std::vector<object_id> some_nodes(object_id g, unsigned most);
  [[nodiscard]] unsigned any_thread() { return d.below(thread_count); }
  [[nodiscard]] unsigned thread_for(object_id stream);
  [[nodiscard]] work any_work(object_id g);  // g: the graph of the new node, or -1
  [[nodiscard]] std::uint32_t next_value() { return ++values_; }  // unique in a sequence
  [[nodiscard]] void* label_of(const work& what) { return at(labels_, what.slot); }

  [[nodiscard]] std::string name(object_id stream) const;
  [[nodiscard]] std::string names(std::span<const object_id> of) const {
    return fmt::format("n{}", fmt::join(of, " n"));
  }

  // Finds the handles of captured nodes among the graph's nodes.
  void resolve(object_id g);
  // Compares the driver's description of a graph with the model.
  void describe(object_id g);
  // Finds the handles of nodes that the driver copied into a clone or a child graph.
  void find_clones(object_id g);

  // Returns the calls that waited for blocked streams.
  [[nodiscard]] const std::vector<std::string>& waited() const noexcept { return waited_; }

  // Records the tail event of a stream after work was submitted to it.
  void mark(unsigned thread, object_id stream);
  // Blocks a stream until open(), while other streams run.
  void hold(object_id stream);
  void open() noexcept { target.open(); }
  [[nodiscard]] bool has_much_work() const noexcept { return m.executed.size() > 1500; }
  // Unblocks all streams, waits for all work, and compares the observations with the model.
  void settle();
  // Destroys all objects. Call it only without findings: destroyed handles crash a GPU's driver.
  void end();

 private:
  // Returns the call's result; if `wrong` is empty, sets it to what is wrong about the result.
  std::string answered(const call_batch::pending_call& call, std::string& wrong);
  [[nodiscard]] bool matches(CUgraphNode handle, const node_state& node);

  std::optional<call_batch> burst_;  // the calls not made yet
  CUresult last_ = CUDA_SUCCESS;
  std::vector<std::string> waited_;
  std::deque<void*> labels_;
  int label_count_ = 0;
  std::uint32_t values_ = 0;
};

// -1 gives null.
[[nodiscard]] std::vector<CUgraphNode> handles_of(sequence_state& w,
                                                  std::span<const object_id> nodes);

// Families of calls, with their weights (calls_*.cpp).
struct action {
  unsigned weight;
  void (*act)(sequence_state&);
};
[[nodiscard]] std::span<const action> capture_actions();
[[nodiscard]] std::span<const action> stream_actions();
[[nodiscard]] std::span<const action> node_actions();
[[nodiscard]] std::span<const action> graph_actions();
[[nodiscard]] std::span<const action> exec_actions();
[[nodiscard]] std::span<const action> held_actions();

// Submits work to a stream, in the model and in the driver.
void submit(sequence_state& w, unsigned thread, object_id stream, const work& what);
void record(sequence_state& w, unsigned thread, object_id event, object_id stream, unsigned flags);
void launch_in(sequence_state& w, unsigned thread, object_id exec, object_id stream);

// Ends the capture that began in the stream. The last argument says whether its graph is kept.
void end_capture(sequence_state& w, unsigned thread, object_id stream, bool wanted);

// Steps that are also made while streams are blocked.
void work_in_stream(sequence_state& w);
void record_or_wait(sequence_state& w);
void launch(sequence_state& w);
void update(sequence_state& w);
void set_exec_node(sequence_state& w);
void enable(sequence_state& w);

}  // namespace weir::graphs
