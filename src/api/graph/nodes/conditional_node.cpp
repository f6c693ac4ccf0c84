// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/conditional_node.cpp - conditions, and nodes that run bodies depending on them.
#include <weir/core/to_string.hpp>
#include <weir/graph/nodes/conditional_node.hpp>

#include "api/device/primary_context.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"

#include <fmt/format.h>

#include <span>

namespace weir {

using detail::check;
using detail::driver;
using detail::subject;

namespace {

constexpr const char* create_call = "cuGraphConditionalHandleCreate";
constexpr int first_with_if_and_while = 12030;
constexpr int first_with_else_and_switch = 12080;

int driver_version(call_site at) {
  int version = 0;
  check(driver().cuDriverGetVersion(&version), "cuDriverGetVersion", {}, at);
  return version;
}

unsigned long long create_handle(graph_ref owner_graph, std::optional<unsigned> at_launch,
                                 abi::CUcontext context, call_site at) {
  CUgraph_st* const graph = detail::require_open(owner_graph, create_call, at);
  unsigned long long handle = 0;
  check(driver().cuGraphConditionalHandleCreate(
            reinterpret_cast<abi::CUgraphConditionalHandle*>(&handle), graph, context,
            at_launch.value_or(0), at_launch ? abi::CU_GRAPH_COND_ASSIGN_DEFAULT : 0),
        create_call, subject::graph(graph), at);
  return handle;
}

detail::conditional_metadata metadata_of(conditional_node node, call_site at) {
  constexpr const char* call = "weir::conditional_node::body";
  detail::require_open(node, call, at);
  auto metadata = detail::find_conditional_metadata(node.graph().get(), node.get());
  if (metadata) return *std::move(metadata);
  detail::throw_error(
      errc::not_supported, call, to_string(graph_node{node}),
      "drivers cannot be queried for the bodies of a conditional node; use a node that "
      "was added through weir",
      at);
}

// Returns the likely reason for which the driver has refused to add a node with this condition to
// `graph`.
std::string invalid_condition_reason(const condition& used_condition, CUgraph_st* graph) {
  if (detail::is_part_of(graph, used_condition.graph().get())) {
    return "another node uses the condition; create a condition for each node";
  }
  return fmt::format(
      "the condition belongs to {}; create a condition of this graph, or of one that contains it",
      to_string(used_condition.graph()));
}

}  // namespace

conditional_support conditional_support_of_driver(call_site at) {
  detail::require_outside_host_function("cuDriverGetVersion", {}, at);
  const int version = driver_version(at);
  return {version >= first_with_if_and_while, version >= first_with_else_and_switch};
}

condition::condition(graph_ref owner_graph, std::optional<unsigned> at_launch, call_site at)
    : condition{owner_graph, at_launch, context_ref{detail::current_or_primary_context(at)}, at} {}

condition::condition(graph_ref owner_graph, std::optional<unsigned> at_launch, context_ref context,
                     call_site at)
    : handle_{create_handle(owner_graph, at_launch, context.get(), at)},
      graph_{owner_graph},
      context_{context} {}

graph_ref conditional_node::body(std::size_t number, call_site at) const {
  const detail::conditional_metadata metadata = metadata_of(*this, at);
  if (number < metadata.bodies.size()) return graph_ref{metadata.bodies[number]};
  detail::throw_error(
      errc::invalid_value, "weir::conditional_node::body", to_string(graph_node{*this}),
      fmt::format("the node has {} bodies, counted from 0, and body {} was requested; pass a "
                  "smaller number",
                  metadata.bodies.size(), number),
      at);
}

std::vector<graph_ref> conditional_node::bodies(call_site at) const {
  std::vector<graph_ref> all;
  for (CUgraph_st* const body : metadata_of(*this, at).bodies) all.emplace_back(body);
  return all;
}

conditional_kind conditional_node::type(call_site at) const {
  return static_cast<conditional_kind>(metadata_of(*this, at).type);
}

CUgraphNode_st* detail::conditional_parameters::add_to(insertion_point point, call_site at) const {
  constexpr const char* call = "cuGraphAddNode";
  CUgraph_st* const graph = require_open(graph_ref{point.graph}, call, at);
  const bool newer = type_ == conditional_kind::switch_number || bodies_ == 2;
  if (newer && driver_version(at) < first_with_else_and_switch) {
    throw_error(errc::call_requires_newer_driver, call, to_string(graph_ref{graph}),
                "else and switch need a driver for CUDA 12.8 or later; check "
                "conditional_support_of_driver(), or use two if nodes",
                at);
  }
  ensure_metadata(graph, at);
  part_reservation reservation{bodies_};
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = condition_.handle();
  params.conditional.type = static_cast<CUgraphConditionalNodeType>(type_);
  params.conditional.size = bodies_;
  params.conditional.ctx = condition_.context().get();
  CUgraphNode created = nullptr;
  if (const CUresult answer = try_add_node(point, params, {}, created, at);
      answer != CUDA_SUCCESS) {
    std::string reason = type_ == conditional_kind::switch_number && bodies_ == 0
                             ? "the switch has no cases; pass at least one case"
                             : invalid_condition_reason(condition_, graph);
    fail_adding(answer, point, node_kind::conditional, std::move(reason), at);
  }
  const std::span bodies{params.conditional.phGraph_out, bodies_};
  for (const CUgraph body : bodies) reservation.add_part(body, graph, created, part_kind::body);
  set_conditional_type(graph, created, static_cast<unsigned>(type_));
  return created;
}

}  // namespace weir
