// SPDX-License-Identifier: Apache-2.0
// api/graph/driver_edges.cpp - node and edge functions of the driver, with or without edge data.
#include "api/graph/driver_edges.hpp"

#include <algorithm>
#include <cstring>

namespace weir::detail {
namespace {

constexpr CUresult lacking = CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;

bool all_ordinary(const CUgraphEdgeData* data, std::size_t count) noexcept {
  constexpr CUgraphEdgeData ordinary{};
  return data == nullptr || std::all_of(data, data + count, [&](const CUgraphEdgeData& each) {
           return std::memcmp(&each, &ordinary, sizeof ordinary) == 0;
         });
}

// Called after a successful or failed call of a function without edge data. On success sets the
// caller's edge data to 0. Returns `answer`.
CUresult with_ordinary(CUresult answer, CUgraphEdgeData* data, const std::size_t* count) noexcept {
  if (answer == CUDA_SUCCESS && data != nullptr) std::fill_n(data, *count, CUgraphEdgeData{});
  return answer;
}

}  // namespace

CUresult get_edges(CUgraph graph, CUgraphNode* sources, CUgraphNode* targets, CUgraphEdgeData* data,
                   std::size_t* count) noexcept {
  const CUresult answer = driver().cuGraphGetEdges_v2(graph, sources, targets, data, count);
  if (answer != lacking) return answer;
  return with_ordinary(driver().cuGraphGetEdges(graph, sources, targets, count), data, count);
}

CUresult get_dependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                          std::size_t* count) noexcept {
  const CUresult answer = driver().cuGraphNodeGetDependencies_v2(node, nodes, data, count);
  if (answer != lacking) return answer;
  return with_ordinary(driver().cuGraphNodeGetDependencies(node, nodes, count), data, count);
}

CUresult get_dependents(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                        std::size_t* count) noexcept {
  const CUresult answer = driver().cuGraphNodeGetDependentNodes_v2(node, nodes, data, count);
  if (answer != lacking) return answer;
  return with_ordinary(driver().cuGraphNodeGetDependentNodes(node, nodes, count), data, count);
}

CUresult connect(CUgraph graph, const CUgraphNode* sources, const CUgraphNode* targets,
                 const CUgraphEdgeData* data, std::size_t count) noexcept {
  const CUresult answer = driver().cuGraphAddDependencies_v2(graph, sources, targets, data, count);
  if (answer != lacking || !all_ordinary(data, count)) return answer;
  return driver().cuGraphAddDependencies(graph, sources, targets, count);
}

CUresult disconnect(CUgraph graph, const CUgraphNode* sources, const CUgraphNode* targets,
                    const CUgraphEdgeData* data, std::size_t count) noexcept {
  const CUresult answer =
      driver().cuGraphRemoveDependencies_v2(graph, sources, targets, data, count);
  if (answer != lacking || !all_ordinary(data, count)) return answer;
  return driver().cuGraphRemoveDependencies(graph, sources, targets, count);
}

CUresult set_frontier(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData* data,
                      std::size_t count, unsigned flags) noexcept {
  const CUresult answer =
      driver().cuStreamUpdateCaptureDependencies_v2(stream, nodes, data, count, flags);
  if (answer != lacking || !all_ordinary(data, count)) return answer;
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
