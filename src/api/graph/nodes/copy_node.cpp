// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/copy_node.cpp - copy nodes.
#include <weir/graph/nodes/copy_node.hpp>

#include "api/device/make_current.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/pointer_attributes.hpp"

#include <fmt/format.h>

namespace weir {

using detail::driver;

namespace {

constexpr const char* set_call = "cuGraphMemcpyNodeSetParams";
constexpr const char* set_in_exec_call = "cuGraphExecMemcpyNodeSetParams";

static_assert(static_cast<unsigned>(copy_side::memory::host) == abi::CU_MEMORYTYPE_HOST);
static_assert(static_cast<unsigned>(copy_side::memory::device) == abi::CU_MEMORYTYPE_DEVICE);
static_assert(static_cast<unsigned>(copy_side::memory::array) == abi::CU_MEMORYTYPE_ARRAY);
static_assert(static_cast<unsigned>(copy_side::memory::unified) == abi::CU_MEMORYTYPE_UNIFIED);

// Returns the side with the kind of memory and the context filled in.
copy_side resolve_side(copy_side side, call_site at) {
  if (side.kind == copy_side::memory::device && side.context == nullptr) {
    side.context = detail::query_pointer_attributes(side.address, at).context;
  }
  if (side.kind != copy_side::memory::unknown) return side;
  if (side.array != nullptr) {
    side.kind = copy_side::memory::array;
  } else if (side.context != nullptr) {
    side.kind = copy_side::memory::device;
  } else {
    const detail::pointer_attributes pointer_info =
        detail::query_pointer_attributes(side.address, at);
    side.kind = static_cast<copy_side::memory>(pointer_info.kind);
    side.context = pointer_info.context;
  }
  return side;
}

struct driver_copy {
  abi::CUDA_MEMCPY3D params{};
  abi::CUcontext context = nullptr;
};

driver_copy to_driver_params(const copy_parameters& parameters, call_site at) {
  const copy_side from = resolve_side(parameters.from(), at);
  const copy_side to = resolve_side(parameters.to(), at);
  driver_copy created;
  abi::CUDA_MEMCPY3D& p = created.params;
  p.srcXInBytes = from.x;
  p.srcY = from.y;
  p.srcZ = from.z;
  p.srcMemoryType = static_cast<abi::CUmemorytype>(from.kind);
  if (from.kind == copy_side::memory::host) p.srcHost = from.address;
  if (from.kind != copy_side::memory::host) p.srcDevice = detail::device_address(from.address);
  p.srcArray = from.array;
  p.srcPitch = from.pitch;
  p.srcHeight = from.slice_rows;
  p.dstXInBytes = to.x;
  p.dstY = to.y;
  p.dstZ = to.z;
  p.dstMemoryType = static_cast<abi::CUmemorytype>(to.kind);
  if (to.kind == copy_side::memory::host) p.dstHost = to.address;
  if (to.kind != copy_side::memory::host) p.dstDevice = detail::device_address(to.address);
  p.dstArray = to.array;
  p.dstPitch = to.pitch;
  p.dstHeight = to.slice_rows;
  p.WidthInBytes = parameters.width_bytes();
  p.Height = parameters.height();
  p.Depth = parameters.depth();
  created.context = to.context != nullptr ? to.context : from.context;
  if (created.context == nullptr) created.context = detail::default_node_context(at);
  return created;
}

bool is_host_or_device(abi::CUmemorytype kind) noexcept {
  return kind == abi::CU_MEMORYTYPE_HOST || kind == abi::CU_MEMORYTYPE_DEVICE;
}

bool is_between_host_and_device(const abi::CUDA_MEMCPY3D& p) noexcept {
  return is_host_or_device(p.srcMemoryType) && is_host_or_device(p.dstMemoryType);
}

// Returns the copy with unified addresses, from which the driver determines the types of memory.
// Copies that involve arrays are returned unchanged.
abi::CUDA_MEMCPY3D with_unified_addresses(abi::CUDA_MEMCPY3D p) noexcept {
  if (!is_between_host_and_device(p)) return p;
  if (p.srcMemoryType == abi::CU_MEMORYTYPE_HOST) p.srcDevice = detail::device_address(p.srcHost);
  if (p.dstMemoryType == abi::CU_MEMORYTYPE_HOST) p.dstDevice = detail::device_address(p.dstHost);
  p.srcHost = nullptr;
  p.dstHost = nullptr;
  p.srcMemoryType = p.dstMemoryType = abi::CU_MEMORYTYPE_UNIFIED;
  return p;
}

// Returns true if the node was captured. Such a node, and its executables, copy between unified
// addresses.
bool uses_unified_addresses(abi::CUgraphNode node, call_site at) {
  abi::CUDA_MEMCPY3D now{};
  const abi::CUresult answer = driver().cuGraphMemcpyNodeGetParams(node, &now);
  // The node does not copy. Setting its parameters reports that.
  if (answer == abi::CUDA_ERROR_INVALID_VALUE) return false;
  detail::check(answer, "cuGraphMemcpyNodeGetParams", {}, at);
  return now.srcMemoryType == abi::CU_MEMORYTYPE_UNIFIED &&
         now.dstMemoryType == abi::CU_MEMORYTYPE_UNIFIED;
}

void* address_of(abi::CUmemorytype kind, const void* host, abi::CUdeviceptr device) noexcept {
  if (kind == abi::CU_MEMORYTYPE_HOST) return const_cast<void*>(host);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(device));
}

}  // namespace

copy_parameters::copy_parameters(detail::node_memory&& from, detail::node_memory&& to, call_site at)
    : width_bytes_{from.bytes},
      height_{1},
      depth_{1},
      owners_{std::move(from.owner), std::move(to.owner)} {
  if (from.bytes > to.bytes) {
    detail::throw_error(
        errc::invalid_value, "weir::copy_parameters", fmt::format("memory at {}", to.address),
        fmt::format("{} bytes do not fit into {}; copy a part of the source (std::span::first)",
                    from.bytes, to.bytes),
        at);
  }
  from_.address = from.address;
  from_.context = from.context;
  to_.address = to.address;
  to_.context = to.context;
}

void copy_parameters::throw_size_mismatch(call_site at) {
  detail::throw_error(errc::invalid_value, "weir::copy_parameters", "",
                      "the two boxes differ in size; pass boxes of one size", at);
}

copy_parameters copy_node::parameters(call_site at) const {
  const auto p = detail::params_of<abi::CUDA_MEMCPY3D>(
      *this, "cuGraphMemcpyNodeGetParams",
      [](abi::CUgraphNode node, auto* params) {
        return driver().cuGraphMemcpyNodeGetParams(node, params);
      },
      at);
  const copy_side from{static_cast<copy_side::memory>(p.srcMemoryType),
                       address_of(p.srcMemoryType, p.srcHost, p.srcDevice),
                       p.srcMemoryType == abi::CU_MEMORYTYPE_ARRAY ? p.srcArray : nullptr,
                       p.srcXInBytes,
                       p.srcY,
                       p.srcZ,
                       p.srcPitch,
                       p.srcHeight,
                       nullptr};
  const copy_side to{static_cast<copy_side::memory>(p.dstMemoryType),
                     address_of(p.dstMemoryType, p.dstHost, p.dstDevice),
                     p.dstMemoryType == abi::CU_MEMORYTYPE_ARRAY ? p.dstArray : nullptr,
                     p.dstXInBytes,
                     p.dstY,
                     p.dstZ,
                     p.dstPitch,
                     p.dstHeight,
                     nullptr};
  copy_parameters parameters{from, to, p.WidthInBytes, p.Height, p.Depth};
  detail::get_owners(*this, parameters.owners_);
  return parameters;
}

void copy_node::set(const copy_parameters& parameters, call_site at) const {
  parameters.set_in_graph(*this, at);
}

CUgraphNode_st* copy_parameters::add_to(CUgraph_st* parent_graph, dependency_list dependencies,
                                        call_site at) const {
  detail::require_outside_host_function("cuGraphAddNode", {}, at);
  const driver_copy created = to_driver_params(*this, at);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy = {0, 0, created.context, created.params};
  return detail::add_node(parent_graph, dependencies, params, owners(), at);
}

void copy_parameters::set_in_graph(graph_node node, call_site at) const {
  detail::require_outside_host_function(set_call, {}, at);
  const driver_copy created = to_driver_params(*this, at);
  detail::change_node(
      node, node_kind::copy, owners(), set_call,
      [&](abi::CUgraphNode handle) {
        const abi::CUDA_MEMCPY3D to = uses_unified_addresses(handle, at)
                                          ? with_unified_addresses(created.params)
                                          : created.params;
        // The call takes no context, and memory of pools has none. An H200 accepts the call without
        // a current context, but then no executable of the node accepts another copy.
        const detail::make_current current{created.context, at};
        return driver().cuGraphMemcpyNodeSetParams(handle, &to);
      },
      at);
}

// A copy node in an executable has either fixed memory types or, if it was captured, unified
// addresses. Its parameters must keep that form. The form is unknown if the graph was destroyed, so
// both forms are tried.
void copy_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const {
  const driver_copy created = to_driver_params(*this, at);
  const auto set = [&](const abi::CUDA_MEMCPY3D& to) {
    return driver().cuGraphExecMemcpyNodeSetParams(exec, node.get(), &to, created.context);
  };
  abi::CUresult status = set(created.params);
  if (status == abi::CUDA_ERROR_INVALID_VALUE && is_between_host_and_device(created.params))
    status = set(with_unified_addresses(created.params));
  detail::check_set_in_exec(status, set_in_exec_call, exec, node, node_kind::copy, at);
}

}  // namespace weir
