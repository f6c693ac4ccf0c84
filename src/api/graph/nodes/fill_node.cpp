// api/graph/nodes/fill_node.cpp - nodes that set memory.
#include <weir/graph/nodes/fill_node.hpp>

#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/pointer_attributes.hpp"

namespace weir {

using detail::driver;

namespace {

constexpr const char* set_fill_call = "cuGraphNodeSetParams";
constexpr const char* set_fill_in_call = "cuGraphExecMemsetNodeSetParams";

abi::CUDA_MEMSET_NODE_PARAMS to_driver_params(const fill_parameters& what) noexcept {
  return {detail::device_address(what.address()),      what.pitch(), what.value(),
          static_cast<unsigned>(what.element_bytes()), what.width(), what.height()};
}

abi::CUgraphNodeParams generic(const fill_parameters& what, abi::CUcontext context) noexcept {
  const abi::CUDA_MEMSET_NODE_PARAMS p = to_driver_params(what);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height, context};
  return params;
}

// The context that the memory is of: what weir knows of its own, else what the driver does.
abi::CUcontext context_of(const detail::node_memory& memory, call_site at) {
  if (memory.context != nullptr) return memory.context;
  const detail::pointer_attributes pointer_info =
      detail::query_pointer_attributes(memory.address, at);
  return pointer_info.context != nullptr ? pointer_info.context : detail::default_node_context(at);
}

}  // namespace

fill_parameters fill_node::parameters(call_site at) const {
  const auto p = detail::params_of<abi::CUDA_MEMSET_NODE_PARAMS>(
      *this, "cuGraphMemsetNodeGetParams",
      [](abi::CUgraphNode node, auto* params) {
        return driver().cuGraphMemsetNodeGetParams(node, params);
      },
      at);
  fill_parameters what{reinterpret_cast<void*>(static_cast<std::uintptr_t>(p.dst)),
                       p.value,
                       p.elementSize,
                       p.width,
                       p.height,
                       p.pitch};
  detail::get_owners(*this, {&what.memory_.owner, 1});
  return what;
}

void fill_node::set(const fill_parameters& what, call_site at) const { what.set_on(*this, at); }

void fill_parameters::throw_slices_not_supported(call_site at) {
  detail::throw_error(errc::invalid_value, "weir::fill_parameters", "",
                      "slices with rows between them are filled one by one", at);
}

CUgraphNode_st* fill_parameters::add_to(CUgraph_st* to, dependency_list after, call_site at) const {
  detail::require_outside_host_function("cuGraphAddNode", {}, at);
  abi::CUgraphNodeParams params = generic(*this, context_of(memory_, at));
  return detail::add_node(to, after, params, owners(), at);
}

void fill_parameters::set_on(graph_node node, call_site at) const {
  abi::CUgraphNodeParams params = generic(*this, context_of(memory_, at));
  detail::change_node(
      node, node_kind::fill, owners(), set_fill_call,
      [&](abi::CUgraphNode handle) {
        // Drivers of CUDA 12.0 and 12.1 have only the call that names no context. An H200 refuses
        // memory of pools there.
        const abi::CUresult answer = driver().cuGraphNodeSetParams(handle, &params);
        if (answer != abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
        const abi::CUDA_MEMSET_NODE_PARAMS p = to_driver_params(*this);
        return driver().cuGraphMemsetNodeSetParams(handle, &p);
      },
      at);
}

void fill_parameters::set_in(CUgraphExec_st* exec, graph_node node, call_site at) const {
  const abi::CUDA_MEMSET_NODE_PARAMS params = to_driver_params(*this);
  const abi::CUcontext context = context_of(memory_, at);
  detail::check_set_in(driver().cuGraphExecMemsetNodeSetParams(exec, node.get(), &params, context),
                       set_fill_in_call, exec, node, node_kind::fill, at);
}

}  // namespace weir
