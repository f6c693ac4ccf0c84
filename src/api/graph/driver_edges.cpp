// SPDX-License-Identifier: Apache-2.0
// api/graph/driver_edges.cpp - node and edge functions of the driver, with or without edge data.
#include "api/graph/driver_edges.hpp"

#include <algorithm>
#include <cstring>

namespace weir::detail {
namespace {

constexpr CUresult lacking = CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;

bool all_zero(const CUgraphEdgeData* data, std::size_t count) noexcept {
  constexpr CUgraphEdgeData zero{};
  return data == nullptr || std::all_of(data, data + count, [&](const CUgraphEdgeData& each) {
           return std::memcmp(&each, &zero, sizeof zero) == 0;
         });
}

}  // namespace

CUresult get_edges(CUgraph graph, CUgraphNode* sources, CUgraphNode* targets, CUgraphEdgeData* data,
                   std::size_t* count) noexcept {
  const CUresult answer = driver().cuGraphGetEdges_v2(graph, sources, targets, data, count);
  if (answer != lacking) return answer;
  return driver().cuGraphGetEdges(graph, sources, targets, count);
}

CUresult get_dependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                          std::size_t* count) noexcept {
  const CUresult answer = driver().cuGraphNodeGetDependencies_v2(node, nodes, data, count);
  if (answer != lacking) return answer;
  return driver().cuGraphNodeGetDependencies(node, nodes, count);
}

CUresult get_dependents(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                        std::size_t* count) noexcept {
  const CUresult answer = driver().cuGraphNodeGetDependentNodes_v2(node, nodes, data, count);
  if (answer != lacking) return answer;
  return driver().cuGraphNodeGetDependentNodes(node, nodes, count);
}

CUresult connect(CUgraph graph, const CUgraphNode* sources, const CUgraphNode* targets,
                 const CUgraphEdgeData* data, std::size_t count) noexcept {
  const CUresult answer = driver().cuGraphAddDependencies_v2(graph, sources, targets, data, count);
  if (answer != lacking || !all_zero(data, count)) return answer;
  return driver().cuGraphAddDependencies(graph, sources, targets, count);
}

CUresult disconnect(CUgraph graph, const CUgraphNode* sources, const CUgraphNode* targets,
                    const CUgraphEdgeData* data, std::size_t count) noexcept {
  const CUresult answer =
      driver().cuGraphRemoveDependencies_v2(graph, sources, targets, data, count);
  if (answer != lacking || !all_zero(data, count)) return answer;
  return driver().cuGraphRemoveDependencies(graph, sources, targets, count);
}

CUresult set_frontier(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* data,
                      std::size_t count, unsigned flags) noexcept {
  const CUresult answer =
      driver().cuStreamUpdateCaptureDependencies_v2(stream, nodes, data, count, flags);
  if (answer != lacking || !all_zero(data, count)) return answer;
  return driver().cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
}

CUresult add_to_graph(CUgraphNode& created, CUgraph graph, const CUgraphNode* dependencies,
                      std::size_t count, CUgraphNodeParams& params) noexcept {
  const CUresult answer =
      driver().cuGraphAddNode_v2(&created, graph, dependencies, nullptr, count, &params);
  if (answer != lacking) return answer;
  return driver().cuGraphAddNode(&created, graph, dependencies, count, &params);
}

}  // namespace weir::detail
