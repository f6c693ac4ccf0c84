// SPDX-License-Identifier: Apache-2.0
// graphs/calls_exec.cpp - executables: instantiated, launched, changed, destroyed.
#include "graphs/sequence_state.hpp"

#include <algorithm>

namespace weir::graphs {
namespace {

void instantiate_on(sequence_state& w, unsigned on, object_id g) {
  const auto alive_count =
      std::ranges::count_if(w.m.execs, [](const exec_state& x) { return x.is_alive; });
  if (alive_count >= 8) return;
  object_id made = -1;
  const expected_result expected = w.m.instantiate(on, g, made);
  CUgraphExec exec = nullptr;
  const bool with_params = w.d.one_in(3);
  w.call(on, fmt::format("cuGraphInstantiate(g{}) x{}", g, made), expected, [&] {
    CUDA_GRAPH_INSTANTIATE_PARAMS p;
    std::memset(&p, 0, sizeof p);
    return with_params
               ? w.driver().cuGraphInstantiateWithParams(&exec, sequence_state::at(w.graphs, g), &p)
               : w.driver().cuGraphInstantiateWithFlags(&exec, sequence_state::at(w.graphs, g), 0);
  });
  if (made >= 0) sequence_state::at(w.execs, made) = exec;
}

// Usually on a thread that is not prohibited from it.
void instantiate(sequence_state& w) {
  const object_id g = w.known_graph();
  if (g < 0 || (w.m.graph(g).parent >= 0 && !w.d.one_in(10))) return;
  unsigned on = w.any_thread();
  for (unsigned i = 0; i < thread_count && !w.d.one_in(20); ++i, on = (on + 1) % thread_count) {
    model would = w.m;
    if (would.call_unsafe(on).code == CUDA_SUCCESS) break;
  }
  model would = w.m;
  if (would.call_unsafe(on).code == CUDA_SUCCESS || w.d.one_in(8)) instantiate_on(w, on, g);
}

}  // namespace

void launch_in(sequence_state& w, unsigned on, object_id x, object_id s) {
  if (w.has_much_work()) w.settle();
  const expected_result expected = w.m.launch(x, s);
  w.call(on, fmt::format("cuGraphLaunch(x{}, {})", x, w.name(s)), expected,
         [&w, exec = sequence_state::at(w.execs, x), stream = sequence_state::at(w.streams, s)] {
           return w.driver().cuGraphLaunch(exec, stream);
         });
  if (expected.code == CUDA_SUCCESS) w.mark(on, s);
}

namespace {

object_id any_stream_to_launch_in(sequence_state& w) {
  const bool wrong = w.d.one_in(30);
  for (int tries = 0; tries < 6; ++tries) {
    const object_id s = w.any_stream(false);
    if (wrong || w.m.stream(s).capture < 0) return s;
  }
  return -1;
}

}  // namespace

void launch(sequence_state& w) {
  const object_id x = w.any_exec();
  for (unsigned left = 1 + w.d.below(2); x >= 0 && left > 0; --left) {
    const object_id s = any_stream_to_launch_in(w);
    if (s >= 0) launch_in(w, w.thread_for(s), x, s);
  }
}

namespace {

void upload(sequence_state& w) {
  const object_id x = w.any_exec(), s = any_stream_to_launch_in(w);
  if (x < 0 || s < 0) return;
  const unsigned on = w.thread_for(s);
  const expected_result expected = w.m.upload(s);
  w.call(on, fmt::format("cuGraphUpload(x{}, {})", x, w.name(s)), expected, [&] {
    return w.driver().cuGraphUpload(sequence_state::at(w.execs, x),
                                    sequence_state::at(w.streams, s));
  });
}

}  // namespace

// Usually updates from the executable's own graph or a similar one: a clone, perhaps with one
// change.
void update(sequence_state& w) {
  const object_id x = w.any_exec();
  object_id g = w.known_graph();
  if (x < 0) return;
  const shape& now = *w.m.exec(x).what;
  for (int tries = 0; tries < 6 && g >= 0 && w.m.graph(g).nodes.size() != now.entries.size();
       ++tries)
    g = w.known_graph();
  if (!w.d.one_in(4) && !now.entries.empty() && now.entries.front().origin >= 0) {
    const node_state& first = w.m.node(now.entries.front().origin);
    if (first.is_alive && sequence_state::at(w.graphs, first.graph) != nullptr) g = first.graph;
  }
  if (g < 0 || w.m.graph(g).parent >= 0) return;
  const expected_result expected = w.m.update(x, g);
  w.call(w.any_thread(), fmt::format("cuGraphExecUpdate(x{}, g{})", x, g), expected, [&] {
    CUgraphExecUpdateResultInfo info;
    std::memset(&info, 0, sizeof info);
    return w.driver().cuGraphExecUpdate_v2(sequence_state::at(w.execs, x),
                                           sequence_state::at(w.graphs, g), &info);
  });
  w.m.updated(x, g, w.last() == CUDA_SUCCESS);
}

namespace {

shape::entry* any_entry(sequence_state& w, object_id x) {
  const object_id g = w.known_graph(), n = g < 0 ? -1 : w.any_node(g);
  std::vector<shape::entry>& all = w.m.exec(x).what->entries;
  if (n >= 0 && w.d.one_in(10)) return w.m.find(x, n);
  if (all.empty()) return nullptr;
  shape::entry& e = all[w.d.below(static_cast<unsigned>(all.size()))];
  return e.origin >= 0 && w.m.node(e.origin).is_alive &&
                 sequence_state::at(w.nodes, e.origin) != nullptr
             ? &e
             : nullptr;
}

void set_event_of_exec(sequence_state& w, object_id x, shape::entry& e) {
  e.event = w.any_event(true);  // the event that the node names exists
  const bool records = e.kind == node_kind::record;
  w.call(w.any_thread(),
         fmt::format("cuGraphExecEvent{}NodeSetEvent(x{}, n{}, e{})", records ? "Record" : "Wait",
                     x, e.origin, e.event),
         CUDA_SUCCESS, [&] {
           const CUgraphExec exec = sequence_state::at(w.execs, x);
           const CUgraphNode node = sequence_state::at(w.nodes, e.origin);
           return records ? w.driver().cuGraphExecEventRecordNodeSetEvent(
                                exec, node, sequence_state::at(w.events, e.event))
                          : w.driver().cuGraphExecEventWaitNodeSetEvent(
                                exec, node, sequence_state::at(w.events, e.event));
         });
}

}  // namespace

void set_exec_node(sequence_state& w) {
  const object_id x = w.any_exec();
  shape::entry* const e = x < 0 ? nullptr : any_entry(w, x);
  if (e == nullptr) return;
  if (e->event >= 0) return set_event_of_exec(w, x, *e);
  const CUgraphExec exec = sequence_state::at(w.execs, x);
  const CUgraphNode node = sequence_state::at(w.nodes, e->origin);
  const bool takes_set = e->kind == node_kind::set, takes_host = e->kind == node_kind::host;
  const CUDA_MEMSET_NODE_PARAMS set{.dst = w.target.address(takes_set ? e->what.slot : 0),
                                    .pitch = 0,
                                    .value = w.next_value(),
                                    .elementSize = 4,
                                    .width = 1,
                                    .height = 1};
  if (takes_set) e->what.value = set.value;
  w.call(w.any_thread(),
         fmt::format("cuGraphExecMemsetNodeSetParams(x{}, n{} = {})", x, e->origin, set.value),
         takes_set ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, [&] {
           return w.driver().cuGraphExecMemsetNodeSetParams(exec, node, &set, w.target.context());
         });
  work other;
  while (other.what != work::kind::host) other = w.any_work(-1);
  if (takes_host) e->what = other;
  const CUDA_HOST_NODE_PARAMS host{.fn = &driver_under_test::log_host_function,
                                   .userData = w.label_of(other)};
  w.call(w.any_thread(),
         fmt::format("cuGraphExecHostNodeSetParams(x{}, n{}, h{})", x, e->origin, other.slot),
         takes_host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
         [&] { return w.driver().cuGraphExecHostNodeSetParams(exec, node, &host); });
}

void enable(sequence_state& w) {
  const object_id x = w.any_exec();
  shape::entry* const e = x < 0 ? nullptr : any_entry(w, x);
  if (e == nullptr) return;
  const CUgraphExec exec = sequence_state::at(w.execs, x);
  const CUgraphNode node = sequence_state::at(w.nodes, e->origin);
  const bool can = e->kind == node_kind::set || e->kind == node_kind::copy, on = w.d.below(2) == 0;
  const expected_result expected = can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (can) e->enabled = on;
  w.call(w.any_thread(), fmt::format("cuGraphNodeSetEnabled(x{}, n{}, {})", x, e->origin, on),
         expected, [&] { return w.driver().cuGraphNodeSetEnabled(exec, node, on ? 1 : 0); });
  unsigned is = on ? 1 : 0;
  w.call(w.any_thread(), fmt::format("cuGraphNodeGetEnabled(x{}, n{})", x, e->origin), expected,
         [&] { return w.driver().cuGraphNodeGetEnabled(exec, node, &is); });
  if (is != (on ? 1u : 0u)) throw finding{"and it is not"};
}

namespace {

void destroy_exec(sequence_state& w) {
  const object_id x = w.any(w.m.execs, [](object_id) { return true; });
  if (x < 0) return;
  const unsigned on = w.any_thread();
  model would = w.m;
  if (would.call_unsafe(on).code != CUDA_SUCCESS && !w.d.one_in(8)) return;
  const expected_result expected = w.m.destroy_exec(on, x);
  w.call(on, fmt::format("cuGraphExecDestroy(x{})", x), expected,
         [&] { return w.driver().cuGraphExecDestroy(sequence_state::at(w.execs, x)); });
}

}  // namespace

std::span<const action> exec_actions() {
  static constexpr action all[] = {{5, instantiate},   {6, launch}, {1, upload},      {3, update},
                                   {2, set_exec_node}, {2, enable}, {1, destroy_exec}};
  return all;
}

}  // namespace weir::graphs
