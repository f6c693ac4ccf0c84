// SPDX-License-Identifier: Apache-2.0
// graphs/calls_node.cpp - nodes added, changed and removed by hand.
#include "graphs/sequence_state.hpp"

namespace weir::graphs {
namespace {

CUDA_MEMSET_NODE_PARAMS set_params(sequence_state& w, const work& what) {
  return {.dst = w.target.address(what.slot),
          .pitch = 0,
          .value = what.value,
          .elementSize = 4,
          .width = 1,
          .height = 1};
}

CUDA_MEMCPY3D copy_params(sequence_state& w, const work& what) {
  CUDA_MEMCPY3D p;
  std::memset(&p, 0, sizeof p);
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.srcDevice = w.target.address(what.source);
  p.dstDevice = w.target.address(what.slot);
  p.WidthInBytes = sizeof(std::uint32_t);
  p.Height = p.Depth = 1;
  return p;
}

CUresult add(sequence_state& w, CUgraphNode* node, CUgraph to,
             const std::vector<CUgraphNode>& behind, const node_state& what) {
  const auto& d = w.driver();
  const CUgraphNode* const list = behind.data();
  const std::size_t count = behind.size();
  switch (what.kind) {
    case node_kind::host: {
      const CUDA_HOST_NODE_PARAMS p{.fn = &driver_under_test::log_host_function,
                                    .userData = w.label_of(what.what)};
      return d.cuGraphAddHostNode(node, to, list, count, &p);
    }
    case node_kind::set: {
      const CUDA_MEMSET_NODE_PARAMS p = set_params(w, what.what);
      return d.cuGraphAddMemsetNode(node, to, list, count, &p, w.target.context());
    }
    case node_kind::copy: {
      const CUDA_MEMCPY3D p = copy_params(w, what.what);
      return d.cuGraphAddMemcpyNode(node, to, list, count, &p, w.target.context());
    }
    case node_kind::record:
      return d.cuGraphAddEventRecordNode(node, to, list, count,
                                         sequence_state::at(w.events, what.event));
    case node_kind::wait:
      return d.cuGraphAddEventWaitNode(node, to, list, count,
                                       sequence_state::at(w.events, what.event));
    default: return d.cuGraphAddEmptyNode(node, to, list, count);
  }
}

node_state any_description(sequence_state& w, object_id g) {
  node_state n{.graph = g, .kind = node_kind::empty};
  const unsigned choice = w.d.below(6);
  n.event = choice == 1 ? w.any_event(true) : -1;
  if (choice > 1) {
    n.what = w.any_work(g);
    n.kind = n.what.what == work::kind::host  ? node_kind::host
             : n.what.what == work::kind::set ? node_kind::set
                                              : node_kind::copy;
  } else if (n.event >= 0) {
    n.kind = w.d.below(2) == 0 ? node_kind::record : node_kind::wait;
  }
  return n;
}

// Sometimes uses a dependency in another graph, or a duplicate one.
void add_node(sequence_state& w, object_id g) {
  if (w.m.graph(g).nodes.size() >= most_nodes) return;
  const object_id other = w.known_graph();
  std::vector<object_id> behind = w.some_nodes(g, 3);
  bool right = true;
  if (w.d.one_in(25) && other >= 0 && other != g) {
    const std::vector<object_id> foreign = w.some_nodes(other, 1);
    behind.insert(behind.end(), foreign.begin(), foreign.end());
    right = foreign.empty();
  } else if (w.d.one_in(25) && !behind.empty()) {
    behind.push_back(behind.front());
    right = false;
  }
  const node_state what = any_description(w, g);
  w.resolve(g);
  const object_id made = right ? w.m.add_node(g, what.kind, what.what, what.event, behind) : -1;
  CUgraphNode ignored = nullptr;
  CUgraphNode& node = made < 0 ? ignored : sequence_state::at(w.nodes, made);
  constexpr const char* kinds[] = {"Empty", "Host", "Memset", "Memcpy", "EventRecord", "EventWait"};
  w.call(w.any_thread(),
         fmt::format("cuGraphAdd{}Node(g{}, {}) n{} {} = {}",
                     kinds[static_cast<std::size_t>(what.kind)], g, w.names(behind), made,
                     what.what.slot, what.what.source),
         right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, [&] {
           return add(w, &node, sequence_state::at(w.graphs, g), handles_of(w, behind), what);
         });
}

void add_nodes(sequence_state& w) {
  const object_id g = w.known_graph();
  for (unsigned left = 1 + w.d.below(5); g >= 0 && left > 0; --left) add_node(w, g);
}

void destroy_node(sequence_state& w) {
  const object_id g = w.known_graph(), n = g < 0 ? -1 : w.any_node(g);
  if (n < 0) return;
  const expected_result expected = w.m.destroy_node(n);
  w.call(w.any_thread(), fmt::format("cuGraphDestroyNode(n{})", n), expected,
         [&] { return w.driver().cuGraphDestroyNode(sequence_state::at(w.nodes, n)); });
}

void set_event_of_node(sequence_state& w, object_id n) {
  const object_id e = w.any_event(true);
  if (e < 0) return;
  const bool records = w.m.node(n).kind == node_kind::record;
  w.m.node(n).event = e;
  w.call(w.any_thread(),
         fmt::format("cuGraphEvent{}NodeSetEvent(n{}, e{})", records ? "Record" : "Wait", n, e),
         CUDA_SUCCESS, [&] {
           const CUgraphNode node = sequence_state::at(w.nodes, n);
           return records ? w.driver().cuGraphEventRecordNodeSetEvent(
                                node, sequence_state::at(w.events, e))
                          : w.driver().cuGraphEventWaitNodeSetEvent(
                                node, sequence_state::at(w.events, e));
         });
}

void set_node(sequence_state& w) {
  const object_id g = w.known_graph(), n = g < 0 ? -1 : w.any_node(g);
  if (n < 0) return;
  node_state& what = w.m.node(n);
  if (what.event >= 0) return set_event_of_node(w, n);
  const bool host = what.kind == node_kind::host, takes = w.m.node(n).kind == node_kind::set;
  if (takes) what.what.value = w.next_value();
  w.call(w.any_thread(), fmt::format("cuGraphMemsetNodeSetParams(n{} = {})", n, what.what.value),
         takes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, [&] {
           const CUDA_MEMSET_NODE_PARAMS p =
               set_params(w, takes ? what.what : work{work::kind::set, 0, 1});
           return w.driver().cuGraphMemsetNodeSetParams(sequence_state::at(w.nodes, n), &p);
         });
  if (!host) return;
  what.what = w.any_work(-1);
  while (what.what.what != work::kind::host) what.what = w.any_work(-1);
  w.call(w.any_thread(), fmt::format("cuGraphHostNodeSetParams(n{}, h{})", n, what.what.slot),
         CUDA_SUCCESS, [&] {
           const CUDA_HOST_NODE_PARAMS p{.fn = &driver_under_test::log_host_function,
                                         .userData = w.label_of(what.what)};
           return w.driver().cuGraphHostNodeSetParams(sequence_state::at(w.nodes, n), &p);
         });
}

}  // namespace

std::span<const action> node_actions() {
  static constexpr action all[] = {{8, add_nodes}, {2, destroy_node}, {2, set_node}};
  return all;
}

}  // namespace weir::graphs
