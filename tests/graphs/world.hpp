// graphs/world.hpp - one sequence: what the model says of it, the driver's handles, and the choices of the next call.
#pragma once

#include "graphs/lane.hpp"
#include "graphs/model.hpp"
#include "graphs/turn.hpp"
#include "sequences/draw.hpp"

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

using sequences::draw;

// Whether others are at work: then no call may look at, or break, what is not the sequence's own.
enum class company { alone, beside };

class world {
 public:
  world(lane& in, company with);

  lane& on;
  const company with;
  model m;
  draw d{0};

  std::deque<CUstream> streams;
  std::deque<CUevent> tails;  // recorded behind what runs in each stream
  std::deque<CUevent> events;
  std::deque<CUgraph> graphs;
  std::deque<CUgraphNode> nodes;
  std::deque<CUgraphExec> execs;

  [[nodiscard]] const detail::driver_table& driver() const { return on.driver(); }
  template <class Handle>
  [[nodiscard]] static Handle& at(std::deque<Handle>& of, number n) {
    if (of.size() <= static_cast<std::size_t>(n)) of.resize(static_cast<std::size_t>(n) + 1);
    return of[static_cast<std::size_t>(n)];
  }

  // Makes a call on a thread and holds what it answers against the model; between begin_burst() and end_burst() it is
  // made when all are, each thread's in their order and all threads at once. Throws a finding. What is held is let go
  // where a call waits for it.
  void call(unsigned thread, std::string what, answer expected, std::function<CUresult()> make);
  void say(std::string_view line) { on.calls().line(line); }
  void begin_burst() { burst_.emplace(); }
  void end_burst();
  [[nodiscard]] CUresult last() const noexcept { return last_; }

  // Choices. -1 where there is nothing to choose from.
  template <class Objects, class Condition>
  [[nodiscard]] number any(const Objects& of, Condition&& suits) {
    std::vector<number> found;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i].live && suits(static_cast<number>(i))) found.push_back(static_cast<number>(i));
    }
    return found.empty() ? -1 : found[d.below(static_cast<unsigned>(found.size()))];
  }
  [[nodiscard]] number any_stream(bool capturing);  // one that is in a whole capture, or else any
  [[nodiscard]] number any_event(bool of_nodes);
  [[nodiscard]] number any_graph();
  [[nodiscard]] number known_graph();  // one whose handle is known, of those
  [[nodiscard]] number any_exec();
  [[nodiscard]] number any_node(number g);  // with a known handle
  [[nodiscard]] std::vector<number> some_nodes(number g, unsigned most);
  [[nodiscard]] unsigned thread_for(number stream);
  [[nodiscard]] work any_work(number g);                          // g: where it would become a node, or -1
  [[nodiscard]] std::uint32_t next_value() { return ++values_; }  // never the same in a sequence
  [[nodiscard]] void* label_of(const work& what) { return at(labels_, what.slot); }

  [[nodiscard]] std::string name(number stream) const;
  [[nodiscard]] std::string names(std::span<const number> of) const { return fmt::format("n{}", fmt::join(of, " n")); }

  // Nodes of captures have handles once they have been looked for among the graph's.
  void resolve(number g);
  // Holds what the driver says of a graph against the model.
  void describe(number g);
  // Handles of what the driver made of another graph: a clone, or a child graph.
  void find_clones(number g);

  // Which calls waited for what was held.
  [[nodiscard]] const std::vector<std::string>& waited() const noexcept { return waited_; }

  // Records the tail of a stream in which something was submitted that runs.
  void mark(unsigned thread, number stream);
  // Holds a stream until open(), as other streams go on.
  void hold(number stream);
  void open() noexcept { on.open(); }
  [[nodiscard]] bool has_much_work() const noexcept { return m.ran.size() > 1500; }
  // Lets what is held go, waits for all that runs, and holds what was seen against the model.
  void settle();
  // Ends all that is there. Only where nothing was found: handles of what is gone crash a GPU's driver.
  void end();

 private:
  // What it answered; and in `wrong`, where that is empty, what is wrong about it.
  std::string answered(const turn::one& call, std::string& wrong);
  [[nodiscard]] bool is(CUgraphNode handle, const node_state& node);

  std::optional<turn> burst_;  // what is not made yet
  CUresult last_ = CUDA_SUCCESS;
  std::vector<std::string> waited_;
  std::deque<void*> labels_;
  int label_count_ = 0;
  std::uint32_t values_ = 0;
};

// Where -1 is null.
[[nodiscard]] std::vector<CUgraphNode> handles_of(world& w, std::span<const number> nodes);

// Families of calls, with their weights (calls_*.cpp).
struct action {
  unsigned weight;
  void (*act)(world&);
};
[[nodiscard]] std::span<const action> capture_actions();
[[nodiscard]] std::span<const action> stream_actions();
[[nodiscard]] std::span<const action> node_actions();
[[nodiscard]] std::span<const action> graph_actions();
[[nodiscard]] std::span<const action> exec_actions();
[[nodiscard]] std::span<const action> held_actions();

// Work in a stream, of the model and of the driver.
void submit(world& w, unsigned thread, number stream, const work& what);
void record(world& w, unsigned thread, number event, number stream, unsigned flags);
void launch_in(world& w, unsigned thread, number exec, number stream);

// Ends what began in the stream. Whether its graph is wanted.
void end_capture(world& w, unsigned thread, number stream, bool wanted);

// Steps that are also made while streams are held.
void work_in_stream(world& w);
void record_or_wait(world& w);
void launch(world& w);
void update(world& w);
void set_exec_node(world& w);
void enable(world& w);

}  // namespace weir::graphs
