// SPDX-License-Identifier: Apache-2.0
// api/graph/exec_nodes.cpp - sets, disables, enables and finds nodes of executable graphs.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph_exec.hpp>

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/graph/exec_state.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/node_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

using detail::driver;
using detail::require_open_exec;

namespace {

[[noreturn, gnu::cold]] void fail_enabling(abi::CUresult answer, const char* call, graph_node node,
                                           call_site at) {
  // Does not query the kind of the node for a better message. A GPU's driver may crash if the node
  // was destroyed.
  detail::throw_error(
      static_cast<errc>(answer), call, to_string(node),
      "the node cannot be disabled; use kernels, copies and fills of the graph that "
      "was instantiated",
      at);
}

void set_enabled(CUgraphExec_st* handle, graph_node node, unsigned enabled, call_site at) {
  constexpr const char* call = "cuGraphNodeSetEnabled";
  CUgraphExec_st* const exec = require_open_exec(handle, call, at);
  const abi::CUresult answer =
      driver().cuGraphNodeSetEnabled(exec, detail::require_open(node, call, at), enabled);
  if (answer != abi::CUDA_SUCCESS) fail_enabling(answer, call, node, at);
}

}  // namespace

void graph_exec::disable(graph_node node, call_site at) { set_enabled(handle_, node, 0, at); }
void graph_exec::enable(graph_node node, call_site at) { set_enabled(handle_, node, 1, at); }

bool graph_exec::enabled(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphNodeGetEnabled";
  CUgraphExec_st* const exec = require_open_exec(handle_, call, at);
  unsigned enabled = 0;
  const abi::CUresult answer =
      driver().cuGraphNodeGetEnabled(exec, detail::require_open(node, call, at), &enabled);
  if (answer != abi::CUDA_SUCCESS) fail_enabling(answer, call, node, at);
  return enabled != 0;
}

graph_node graph_exec::find(std::string_view tag, call_site at) const {
  constexpr const char* call = "weir::graph_exec::find";
  require_open_exec(handle_, call, at);
  graph_node found;
  if (state_ == nullptr || tag.empty()) return found;
  const detail::tag_list& list = state_->tags;
  for (const auto& [name, node] : list.tags) {
    if (name != tag) continue;
    if (found)
      detail::throw_error(
          errc::invalid_value, call, "",
          fmt::format("several nodes have the tag \"{}\"; give each node its own tag", tag), at);
    found = graph_node{node, list.graph};
  }
  if (found && !detail::is_present(list, found.get())) {
    detail::throw_error(
        errc::invalid_value, call, "",
        fmt::format(
            "node \"{}\" or its graph was destroyed; keep the graph that was instantiated as "
            "long as its nodes are looked up",
            tag),
        at);
  }
  return found;
}

// Delegates to another constructor. Therefore, if a step throws, the destructor runs and undoes the
// earlier steps.
detail::node_change::node_change(graph_exec& exec, graph_node node, owner_list owners, call_site at)
    : node_change{exec, node} {
  constexpr const char* call = "cuGraphExecNodeSetParams";
  require_open_exec(exec.handle_, call, at);
  require_open(node, call, at);
  const auto is_present = [](const keep_alive_ref& share) { return static_cast<bool>(share); };
  if (exec.state_ == nullptr && std::any_of(owners.first, owners.first + owners.size, is_present)) {
    exec.state_ = new exec_state;
  }
  if (exec.state_ != nullptr) exec.state_->reserve(node.get(), owners);
  if (exec.context_ != nullptr) pushed_ = push_current(exec.context_, at);
}

detail::node_change::~node_change() {
  if (exec_.state_ != nullptr) exec_.state_->discard_pending();
  if (pushed_) pop_current();
}

void detail::node_change::commit() noexcept {
  if (exec_.state_ != nullptr) exec_.state_->set(node_.get());
}

}  // namespace weir
