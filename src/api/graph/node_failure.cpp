// api/graph/node_failure.cpp - why nodes of graphs cannot be added or changed, in words.
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
  const bool known = driver().cuGraphNodeGetType(node.get(), &type) == CUDA_SUCCESS;
  return known ? fmt::format("{} {}", name_of(static_cast<node_kind>(type)), to_string(node))
               : to_string(node);
}

const char* hint_for(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel:
      return "the function has to be loaded, and grid and block have to be what the device can do";
    case node_kind::copy:
      return "both sides have to be there for all of it, with at least a byte, a row and a slice, "
             "and pitches of at "
             "least a row; and a buffer's pool has to let the device in that copies, the target's "
             "(memory_pool_ref::set_access)";
    case node_kind::fill:
      return "the memory has to be what a device reaches (a buffer, a pinned_buffer), whole "
             "elements within its "
             "bounds, at least one, and the pitch at least a row";
    case node_kind::host_function: return "the function must not be null";
    case node_kind::child_graph: return "the child has to be a graph, and another one";
    case node_kind::event_wait:
    case node_kind::event_record: return "the event has to be alive";
    case node_kind::semaphore_signal:
    case node_kind::semaphore_wait: return "the semaphores have to be alive, and at least one";
    case node_kind::allocation:
      return "the memory has to be of a device that there is, at least a byte";
    case node_kind::free:
      return "the address has to be what an allocation node gave, and nobody else's to free";
    case node_kind::value_batch:
      return "a word lies, aligned to its size, in memory that a device reaches, and there are at "
             "most 255";
    case node_kind::conditional:
      return "the condition has to be of this graph, used by no other node";
    case node_kind::empty: break;
  }
  return "";
}

void fail_adding(CUresult answer, CUgraph to, dependency_list after, node_kind kind,
                 std::string reason, call_site at) {
  const bool gpus_only = kind == node_kind::semaphore_signal || kind == node_kind::semaphore_wait;
  switch (answer) {
    case CUDA_ERROR_INVALID_VALUE: {
      std::vector<CUgraphNode> sorted;
      for (const graph_node node : after) sorted.push_back(node.get());
      std::ranges::sort(sorted);
      const auto duplicate = std::ranges::adjacent_find(sorted);
      if (duplicate != sorted.end()) {
        reason = describe(graph_node{*duplicate, to}) +
                 " is named twice in the list of those that it comes after";
      } else if (after.size() != 0) {
        reason += reason.empty() ? "" : "; and ";
        reason += "the nodes that it comes after have to be of this graph";
      }
      break;
    }
    case CUDA_ERROR_NOT_SUPPORTED:
      if (gpus_only) reason = "GPUs only; the embedded driver has no such nodes";
      break;
    case CUDA_ERROR_INVALID_HANDLE: break;
    default: throw_error(static_cast<errc>(answer), add_node_call, subject::graph(to), at);
  }
  throw_error(static_cast<errc>(answer), add_node_call, to_string(graph_ref{to}),
              fmt::format("{}{}{}", describe_kind(kind), reason.empty() ? "" : ": ", reason), at);
}

void fail_setting(CUresult answer, const char* call, graph_node node, node_kind wanted,
                  call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    throw_error(static_cast<errc>(answer), call, describe(node), {}, at);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (driver().cuGraphNodeGetType(node.get(), &type) != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, to_string(node), "it is no node, or gone", at);
  }
  if (static_cast<node_kind>(type) != wanted) {
    throw_error(static_cast<errc>(answer), call, describe(node),
                "the parameters are of " + describe_kind(wanted), at);
  }
  throw_error(static_cast<errc>(answer), call, describe(node), hint_for(wanted), at);
}

void fail_setting_in(CUresult answer, const char* call, CUgraphExec exec, graph_node node,
                     node_kind wanted, call_site at) {
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    throw_error(static_cast<errc>(answer), call, describe(node), {}, at);
  const bool can_be_off =
      wanted == node_kind::fill || wanted == node_kind::copy || wanted == node_kind::kernel;
  unsigned enabled = 0;
  if (can_be_off && driver().cuGraphNodeGetEnabled(exec, node.get(), &enabled) != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, to_string(node),
                "it is none of the nodes that the executable was made of, or of another kind; name "
                "a node of that very graph, "
                "not of a clone or of one that it was updated from",
                at);
  }
  const char* allowed = "";
  switch (wanted) {
    case node_kind::fill:
      allowed =
          "an executable may change value and address of a fill, one of several rows nothing else; "
          "it has to stay one "
          "of one row or of several";
      break;
    case node_kind::copy:
      allowed =
          "an executable may change addresses and size of a copy of one row, of several rows "
          "nothing, to memory of the "
          "same kinds: host or device if it was added, of a pool or not, of a graph or not; and of "
          "one context";
      break;
    case node_kind::value_batch:
      allowed =
          "an executable may change the words and values of a batch, not how many there are or "
          "what each does";
      break;
    case node_kind::child_graph:
      allowed =
          "an executable takes a child of the same shape: the same kinds of nodes in the same "
          "order";
      break;
    case node_kind::kernel:
      allowed =
          "an executable may change function, extents and arguments of a kernel, not its context";
      break;
    default: break;
  }
  const std::string hint = hint_for(wanted);
  // One that may be gone is not asked what it is: a GPU's driver may crash over it.
  throw_error(
      static_cast<errc>(answer), call, can_be_off ? describe(node) : to_string(node),
      fmt::format("{}{}{}{}", allowed, *allowed != '\0' ? "; " : "", hint,
                  can_be_off
                      ? ""
                      : "; and the node has to be of the graph that the executable was made of"),
      at);
}

}  // namespace weir::detail
