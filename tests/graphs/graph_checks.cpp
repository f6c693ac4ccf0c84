// SPDX-License-Identifier: Apache-2.0
// graphs/graph_checks.cpp - compares the driver's description of a graph with the model.
#include "graphs/sequence_state.hpp"

#include <algorithm>
#include <set>

namespace weir::graphs {

namespace {

CUgraphNodeType type_of(node_kind kind) {
  switch (kind) {
    case node_kind::host: return CU_GRAPH_NODE_TYPE_HOST;
    case node_kind::set: return CU_GRAPH_NODE_TYPE_MEMSET;
    case node_kind::copy: return CU_GRAPH_NODE_TYPE_MEMCPY;
    case node_kind::record: return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case node_kind::wait: return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case node_kind::child: return CU_GRAPH_NODE_TYPE_GRAPH;
    default: return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

CUdeviceptr target_of(const CUDA_MEMCPY3D& copy) {
  return copy.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(copy.dstHost)
                                                  : copy.dstDevice;
}

using edge = std::pair<CUgraphNode, CUgraphNode>;

}  // namespace

// Returns true if it is the model's node. Nodes are recognized by what they do: captured work has
// unique slots and labels.
bool sequence_state::matches(CUgraphNode handle, const node_state& node) {
  CUgraphNodeType type{};
  expect_success(driver().cuGraphNodeGetType(handle, &type), "cuGraphNodeGetType");
  if (type != type_of(node.kind)) return false;
  if (node.kind == node_kind::host) {
    CUDA_HOST_NODE_PARAMS p{};
    expect_success(driver().cuGraphHostNodeGetParams(handle, &p), "cuGraphHostNodeGetParams");
    return p.fn == &driver_under_test::log_host_function && p.userData == label_of(node.what);
  }
  if (node.kind == node_kind::set) {
    CUDA_MEMSET_NODE_PARAMS p{};
    expect_success(driver().cuGraphMemsetNodeGetParams(handle, &p), "cuGraphMemsetNodeGetParams");
    return target.slot_at(p.dst) == node.what.slot && p.value == node.what.value;
  }
  if (node.kind == node_kind::copy) {
    CUDA_MEMCPY3D p;
    std::memset(&p, 0, sizeof p);
    expect_success(driver().cuGraphMemcpyNodeGetParams(handle, &p), "cuGraphMemcpyNodeGetParams");
    return target.slot_at(target_of(p)) == node.what.slot &&
           p.WidthInBytes == sizeof(std::uint32_t);
  }
  CUevent event = nullptr;
  if (node.kind == node_kind::record)
    expect_success(driver().cuGraphEventRecordNodeGetEvent(handle, &event), "GetEvent");
  if (node.kind == node_kind::wait)
    expect_success(driver().cuGraphEventWaitNodeGetEvent(handle, &event), "GetEvent");
  return node.event < 0 || event == at(events, node.event);
}

void sequence_state::resolve(object_id g) {
  std::vector<CUgraphNode> listed(m.graph(g).nodes.size() + 1);
  std::size_t count = listed.size();
  expect_success(driver().cuGraphGetNodes(at(graphs, g), listed.data(), &count), "cuGraphGetNodes");
  listed.resize(count);
  for (const object_id n : m.graph(g).nodes) std::erase(listed, at(nodes, n));
  for (const object_id n : m.graph(g).nodes) {
    if (at(nodes, n) != nullptr) continue;
    const auto found =
        std::ranges::find_if(listed, [&](CUgraphNode h) { return matches(h, m.node(n)); });
    if (found == listed.end()) throw finding{fmt::format("graph g{} has no node n{}", g, n)};
    at(nodes, n) = *found;
    listed.erase(found);
  }
  if (!listed.empty())
    throw finding{fmt::format("graph g{} has {} nodes too many", g, listed.size())};
}

void sequence_state::describe(object_id g) {
  log_line(fmt::format("look at g{}", g));
  resolve(g);
  const CUgraph handle = at(graphs, g);
  std::set<edge> edges;
  std::set<CUgraphNode> roots;
  for (const object_id n : m.graph(g).nodes) {
    if (!matches(at(nodes, n), m.node(n))) throw finding{fmt::format("n{} is another one", n)};
    for (const object_id before : m.node(n).before) edges.emplace(at(nodes, before), at(nodes, n));
    if (m.node(n).before.empty()) roots.insert(at(nodes, n));
    if (m.node(n).inside >= 0) {
      CUgraph inside = nullptr;
      expect_success(driver().cuGraphChildGraphNodeGetGraph(at(nodes, n), &inside),
                     "cuGraphChildGraphNodeGetGraph");
      if (inside != at(graphs, m.node(n).inside))
        throw finding{fmt::format("n{} has another child", n)};
    }
    std::size_t before = 0, after = 0;
    expect_success(driver().cuGraphNodeGetDependencies_v2(at(nodes, n), nullptr, nullptr, &before),
                   "GetDependencies");
    expect_success(driver().cuGraphNodeGetDependentNodes_v2(at(nodes, n), nullptr, nullptr, &after),
                   "GetDependentNodes");
    if (before != m.node(n).before.size())
      throw finding{fmt::format("n{} has {} dependencies", n, before)};
    if (after != m.after(n).size()) throw finding{fmt::format("n{} has {} dependents", n, after)};
  }
  std::size_t count = edges.size() + 1;
  std::vector<CUgraphNode> from(count), to(count);
  expect_success(driver().cuGraphGetEdges_v2(handle, from.data(), to.data(), nullptr, &count),
                 "cuGraphGetEdges");
  std::set<edge> found;
  for (std::size_t i = 0; i < count; ++i) found.emplace(from[i], to[i]);
  if (found != edges || count != edges.size()) throw finding{fmt::format("g{} has other edges", g)};
  count = roots.size() + 1;
  from.assign(count, nullptr);
  expect_success(driver().cuGraphGetRootNodes(handle, from.data(), &count), "cuGraphGetRootNodes");
  if (std::set<CUgraphNode>(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count)) !=
      roots)
    throw finding{fmt::format("g{} has other roots", g)};
}

void sequence_state::find_clones(object_id g) {
  for (const object_id n : m.graph(g).nodes) {
    const CUgraphNode original = at(nodes, m.node(n).cloned_from);
    expect_success(driver().cuGraphNodeFindInClone(&at(nodes, n), original, at(graphs, g)),
                   "cuGraphNodeFindInClone");
    if (m.node(n).inside < 0) continue;
    expect_success(
        driver().cuGraphChildGraphNodeGetGraph(at(nodes, n), &at(graphs, m.node(n).inside)),
        "GetGraph");
    find_clones(m.node(n).inside);
  }
}

}  // namespace weir::graphs
