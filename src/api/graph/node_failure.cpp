// SPDX-License-Identifier: Apache-2.0
// api/graph/node_failure.cpp - explains why nodes cannot be added or changed.
#include "api/graph/node_failure.hpp"

#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* add_node_call = "cuGraphAddNode";

}  // namespace

const char* name_of(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel: return "kernel";
    case node_kind::copy: return "copy";
    case node_kind::fill: return "fill";
    case node_kind::host_function: return "host function";
    case node_kind::child_graph: return "child graph";
    case node_kind::empty: return "empty";
    case node_kind::event_wait: return "event wait";
    case node_kind::event_record: return "event record";
    case node_kind::semaphore_signal: return "semaphore signal";
    case node_kind::semaphore_wait: return "semaphore wait";
    case node_kind::allocation: return "allocation";
    case node_kind::free: return "free";
    case node_kind::value_batch: return "value batch";
    case node_kind::conditional: return "conditional";
  }
  return "new kind of";
}

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

const char* hint_for(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel:
      return "the function is not loaded, or the grid or block is outside the device's "
             "limits; keep the module open, and use a valid grid and block";
    case node_kind::copy:
      return "the copy is empty, exceeds the memory of one side, has a pitch shorter than a "
             "row, or uses a pool that the copying device cannot access; check sizes and "
             "pitches, and give the target's device access (memory_pool_ref::set_access)";
    case node_kind::fill:
      return "the range is empty, not device-accessible memory, exceeds its allocation, or "
             "has a pitch shorter than a row; fill whole elements of a buffer or pinned_buffer";
    case node_kind::host_function: return "the function is null; pass a function";
    case node_kind::child_graph:
      return "the child graph is null or the graph itself; pass another graph";
    case node_kind::event_wait:
    case node_kind::event_record:
      return "the event is closed; keep it open while the graph is used";
    case node_kind::semaphore_signal:
    case node_kind::semaphore_wait:
      return "the list of semaphores is empty, or a semaphore is closed; pass at least one "
             "open semaphore";
    case node_kind::allocation:
      return "the size is 0 or the device does not exist; allocate at least 1 byte on a "
             "device of device::all()";
    case node_kind::free:
      return "the address is not from an allocation node, or another node already frees it; "
             "free each allocation node's address once";
    case node_kind::value_batch:
      return "a word is not aligned to its size or not in device-accessible memory, or the "
             "batch has more than 255 operations; check the addresses, or split the batch";
    case node_kind::conditional:
      return "the condition belongs to another graph, or another node uses it; create a "
             "condition of this graph for each node";
    case node_kind::empty: break;
  }
  return "";
}

void fail_adding(CUresult answer, CUgraph parent_graph, dependency_list dependencies,
                 node_kind kind, std::string reason, call_site at) {
  const bool gpus_only = kind == node_kind::semaphore_signal || kind == node_kind::semaphore_wait;
  switch (answer) {
    case CUDA_ERROR_INVALID_VALUE: {
      std::vector<CUgraphNode> sorted;
      for (const graph_node node : dependencies) sorted.push_back(node.get());
      std::ranges::sort(sorted);
      const auto duplicate = std::ranges::adjacent_find(sorted);
      if (duplicate != sorted.end()) {
        reason = describe(graph_node{*duplicate, parent_graph}) +
                 " is listed twice as a dependency; list each dependency once";
      } else if (dependencies.size() != 0) {
        reason += reason.empty() ? "" : "; and ";
        reason += "use only nodes of this graph as dependencies";
      }
      break;
    }
    case CUDA_ERROR_NOT_SUPPORTED:
      if (gpus_only)
        reason =
            "the embedded driver does not support semaphore nodes (GPUs only); signal or "
            "wait in a stream, outside the graph";
      break;
    case CUDA_ERROR_INVALID_HANDLE: break;
    default:
      throw_error(static_cast<errc>(answer), add_node_call, subject::graph(parent_graph), at);
  }
  throw_error(static_cast<errc>(answer), add_node_call, to_string(graph_ref{parent_graph}),
              fmt::format("{}{}{}", describe_kind(kind), reason.empty() ? "" : ": ", reason), at);
}

void fail_setting(CUresult answer, const char* call, graph_node node, node_kind expected,
                  call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    throw_error(static_cast<errc>(answer), call, describe(node), {}, at);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (driver().cuGraphNodeGetType(node.get(), &type) != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, to_string(node),
                "the node does not exist or was destroyed; pass a node of an existing graph", at);
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

void fail_setting_in(CUresult answer, const char* call, CUgraphExec exec, graph_node node,
                     node_kind expected, call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    throw_error(static_cast<errc>(answer), call, describe(node), {}, at);
  const bool can_be_off =
      expected == node_kind::fill || expected == node_kind::copy || expected == node_kind::kernel;
  unsigned enabled = 0;
  if (can_be_off && driver().cuGraphNodeGetEnabled(exec, node.get(), &enabled) != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, to_string(node),
                "the node is not from the graph that was instantiated, or is of another kind; "
                "pass a node of that graph, not of a clone or of a graph that it was updated from",
                at);
  }
  const char* allowed = "";
  switch (expected) {
    case node_kind::fill:
      allowed =
          "in an executable, only the value and address of a fill can change, and its size "
          "if it has one row; do not change between one row and several rows";
      break;
    case node_kind::copy:
      allowed =
          "in an executable, only the addresses and size of a one-row copy can change; "
          "keep both sides in the same kinds of memory (host, device, pool, graph) and in "
          "one context";
      break;
    case node_kind::value_batch:
      allowed =
          "in an executable, only the words and values of a batch can change; keep the "
          "number and kinds of operations";
      break;
    case node_kind::child_graph:
      allowed =
          "in an executable, a child graph must keep its shape; pass a graph with the same "
          "kinds of nodes in the same order";
      break;
    case node_kind::kernel:
      allowed =
          "in an executable, a kernel's context cannot change; change only its function, "
          "extents and arguments";
      break;
    default: break;
  }
  const std::string hint = hint_for(expected);
  // Does not query the kind of a node that may have been destroyed, because a GPU's driver may
  // crash.
  throw_error(static_cast<errc>(answer), call, can_be_off ? describe(node) : to_string(node),
              fmt::format("{}{}{}{}", allowed, *allowed != '\0' ? "; " : "", hint,
                          can_be_off ? "" : "; use a node of the graph that was instantiated"),
              at);
}

}  // namespace weir::detail
