// SPDX-License-Identifier: Apache-2.0
// api/graph/node_failure.cpp - explains why nodes cannot be added or changed.
#include "api/graph/node_failure.hpp"

#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* add_node_call = "cuGraphAddNode";

struct node_kind_texts {
  const char* name;
  const char* requirements;  // result of hint_for()
  const char* changes = "";  // which parameters can change in an executable; empty: all
};

// The index is the value of the node_kind.
constexpr node_kind_texts texts_by_kind[] = {
    {"kernel",
     "the function is not loaded, or the grid or block is outside the device's limits; keep the "
     "module open, and use a valid grid and block",
     "in an executable, a kernel's context cannot change; change only its function, extents and "
     "arguments"},
    {"copy",
     "the copy is empty, exceeds the memory of one side, has a pitch shorter than a row, or uses a "
     "pool that the copying device cannot access; check sizes and pitches, and give the target's "
     "device access (memory_pool_ref::set_access)",
     "in an executable, only the addresses and size of a one-row copy can change; keep both sides "
     "in the same kinds of memory (host, device, pool, graph) and in one context"},
    {"fill",
     "the range is empty, not device-accessible memory, exceeds its allocation, or has a pitch "
     "shorter than a row; fill whole elements of a buffer or pinned_buffer",
     "in an executable, only the value and address of a fill can change, and its size if it has "
     "one row; do not change between one row and several rows"},
    {"host function", "the function is null; pass a function"},
    {"child graph", "the child graph is null or the graph itself; pass another graph",
     "in an executable, a child graph must keep its shape; pass a graph with the same kinds of "
     "nodes in the same order"},
    {"empty", ""},
    {"event wait", "the event is closed; keep it open while the graph is used"},
    {"event record", "the event is closed; keep it open while the graph is used"},
    {"semaphore signal",
     "the list of semaphores is empty, or a semaphore is closed; pass at least one open semaphore"},
    {"semaphore wait",
     "the list of semaphores is empty, or a semaphore is closed; pass at least one open semaphore"},
    {"allocation",
     "the size is 0 or the device does not exist; allocate at least 1 byte on a device of "
     "device::all()"},
    {"free",
     "the address is not from an allocation node, or another node already frees it; free each "
     "allocation node's address once"},
    {"value batch",
     "a word is not aligned to its size or not in device-accessible memory, or the batch has more "
     "than 255 operations; check the addresses, or split the batch",
     "in an executable, only the words and values of a batch can change; keep the number and kinds "
     "of operations"},
    {"conditional",
     "the condition belongs to another graph, or another node uses it; create a condition of this "
     "graph for each node"},
};

// Returns the texts for a kind. A newer driver may have kinds that weir does not know.
constexpr node_kind_texts texts_of(node_kind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(texts_by_kind) ? texts_by_kind[index]
                                          : node_kind_texts{"new kind of", ""};
}

static_assert(texts_of(node_kind::conditional).name == texts_by_kind[13].name);  // the last entry

}  // namespace

const char* name_of(node_kind kind) noexcept { return texts_of(kind).name; }

std::string describe_kind(node_kind kind) {
  const std::string_view name = name_of(kind);
  return fmt::format(
      "{} {} node",
      std::string_view{"aeiou"}.find(name.front()) != std::string_view::npos ? "an" : "a", name);
}

std::string describe(graph_node node) {
  if (!node) return "no node";
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  const bool exists = driver().cuGraphNodeGetType(node.get(), &type) == CUDA_SUCCESS;
  return exists ? fmt::format("{} {}", name_of(static_cast<node_kind>(type)), to_string(node))
                : to_string(node);
}

const char* hint_for(node_kind kind) noexcept { return texts_of(kind).requirements; }

namespace {

// If a dependency is listed twice, returns a text about that. Otherwise returns `reason` and, if
// there are dependencies, adds that they must be nodes of the graph.
std::string with_dependency_hint(std::string reason, insertion_point point) {
  if (point.dependencies.size() == 0) return reason;
  std::vector<CUgraphNode> sorted;
  for (const graph_node node : point.dependencies) sorted.push_back(node.get());
  std::ranges::sort(sorted);
  const auto duplicate = std::ranges::adjacent_find(sorted);
  if (duplicate != sorted.end()) {
    return describe(graph_node{*duplicate, point.graph}) +
           " is listed twice as a dependency; list each dependency once";
  }
  return reason + (reason.empty() ? "" : "; and ") + "use only nodes of this graph as dependencies";
}

}  // namespace

void fail_adding(CUresult answer, insertion_point point, node_kind kind, std::string reason,
                 call_site at) {
  switch (answer) {
    case CUDA_ERROR_INVALID_VALUE: reason = with_dependency_hint(std::move(reason), point); break;
    case CUDA_ERROR_NOT_SUPPORTED:
      if (kind == node_kind::semaphore_signal || kind == node_kind::semaphore_wait)
        reason =
            "the embedded driver does not support semaphore nodes (GPUs only); signal or "
            "wait in a stream, outside the graph";
      break;
    case CUDA_ERROR_INVALID_HANDLE: break;
    default: throw_error(static_cast<errc>(answer), add_node_call, subject::graph(point.graph), at);
  }
  throw_error(static_cast<errc>(answer), add_node_call, to_string(graph_ref{point.graph}),
              fmt::format("{}{}{}", describe_kind(kind), reason.empty() ? "" : ": ", reason), at);
}

void fail_setting(CUresult answer, const char* call, graph_node node, node_kind expected,
                  call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)  // throw_error() adds the hint
    throw_error(static_cast<errc>(answer), call, describe(node), {}, at);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (driver().cuGraphNodeGetType(node.get(), &type) != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, to_string(node), no_such_node, at);
  }
  if (static_cast<node_kind>(type) != expected) {
    throw_error(
        static_cast<errc>(answer), call, describe(node),
        fmt::format(
            "the parameters are for {}, which the node is not; pass parameters of the node's kind",
            describe_kind(expected)),
        at);
  }
  throw_error(static_cast<errc>(answer), call, describe(node), hint_for(expected), at);
}

void fail_setting_in_exec(CUresult answer, const char* call, CUgraphExec exec, graph_node node,
                          node_kind expected, call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)  // throw_error() adds the hint
    throw_error(static_cast<errc>(answer), call, describe(node), {}, at);
  // A query of whether the node is enabled fails if the executable does not contain the node. Only
  // these kinds can be queried.
  const bool can_be_disabled =
      expected == node_kind::fill || expected == node_kind::copy || expected == node_kind::kernel;
  unsigned enabled = 0;
  if (can_be_disabled &&
      driver().cuGraphNodeGetEnabled(exec, node.get(), &enabled) != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, to_string(node),
                "the node is not from the graph that was instantiated, or is of another kind; "
                "pass a node of that graph, not of a clone or of a graph that it was updated from",
                at);
  }
  const std::string_view changes = texts_of(expected).changes;
  // A node of another kind may have been destroyed. Its kind is not queried, because a GPU's driver
  // may crash.
  throw_error(static_cast<errc>(answer), call, can_be_disabled ? describe(node) : to_string(node),
              fmt::format("{}{}{}{}", changes, changes.empty() ? "" : "; ", hint_for(expected),
                          can_be_disabled ? "" : "; use a node of the graph that was instantiated"),
              at);
}

}  // namespace weir::detail
