// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/copy_node.cpp - copy nodes.
#include <weir/graph/nodes/copy_node.hpp>

#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/pointer_attributes.hpp"

#include <fmt/format.h>

namespace weir {

using detail::driver;

namespace {

constexpr const char* set_call = "cuGraphMemcpyNodeSetParams";

static_assert(static_cast<unsigned>(copy_side::memory::host) == abi::CU_MEMORYTYPE_HOST);
static_assert(static_cast<unsigned>(copy_side::memory::device) == abi::CU_MEMORYTYPE_DEVICE);
static_assert(static_cast<unsigned>(copy_side::memory::array) == abi::CU_MEMORYTYPE_ARRAY);
static_assert(static_cast<unsigned>(copy_side::memory::unified) == abi::CU_MEMORYTYPE_UNIFIED);

// Returns one side of a copy with its kind of memory and its context filled in. Queries the driver
// for what `side` does not contain.
copy_side resolve_side(copy_side side, call_site at) {
  using memory = copy_side::memory;
  if (side.kind == memory::unknown) {
    if (side.array != nullptr) {
      side.kind = memory::array;
    } else if (side.context != nullptr) {
      side.kind = memory::device;
    }
  }
  const bool kind_is_unknown = side.kind == memory::unknown;
  if (kind_is_unknown || (side.kind == memory::device && side.context == nullptr)) {
    const detail::pointer_attributes info = detail::query_pointer_attributes(side.address, at);
    if (kind_is_unknown) side.kind = static_cast<memory>(info.kind);
    side.context = info.context;
  }
  return side;
}

abi::CUDA_MEMCPY_NODE_PARAMS to_driver_params(const copy_parameters& parameters, call_site at) {
  const copy_side source = resolve_side(parameters.source(), at);
  const copy_side target = resolve_side(parameters.target(), at);
  abi::CUcontext context = target.context != nullptr ? target.context : source.context;
  if (context == nullptr) context = detail::current_or_primary_context(at);
  abi::CUDA_MEMCPY3D p{};
  p.srcXInBytes = source.x;
  p.srcY = source.y;
  p.srcZ = source.z;
  p.srcMemoryType = static_cast<abi::CUmemorytype>(source.kind);
  if (source.kind == copy_side::memory::host) p.srcHost = source.address;
  if (source.kind != copy_side::memory::host) p.srcDevice = detail::device_address(source.address);
  p.srcArray = source.array;
  p.srcPitch = source.pitch;
  p.srcHeight = source.slice_rows;
  p.dstXInBytes = target.x;
  p.dstY = target.y;
  p.dstZ = target.z;
  p.dstMemoryType = static_cast<abi::CUmemorytype>(target.kind);
  if (target.kind == copy_side::memory::host) p.dstHost = target.address;
  if (target.kind != copy_side::memory::host) p.dstDevice = detail::device_address(target.address);
  p.dstArray = target.array;
  p.dstPitch = target.pitch;
  p.dstHeight = target.slice_rows;
  p.WidthInBytes = parameters.width_bytes();
  p.Height = parameters.height();
  p.Depth = parameters.depth();
  return {0, 0, context, p};
}

bool is_host_or_device(abi::CUmemorytype kind) noexcept {
  return kind == abi::CU_MEMORYTYPE_HOST || kind == abi::CU_MEMORYTYPE_DEVICE;
}

bool has_explicit_memory_types(const abi::CUDA_MEMCPY3D& p) noexcept {
  return is_host_or_device(p.srcMemoryType) && is_host_or_device(p.dstMemoryType);
}

// Returns the copy with unified addresses (CU_MEMORYTYPE_UNIFIED), with which the driver determines
// the types of memory itself. Returns a copy that involves arrays unchanged.
abi::CUDA_MEMCPY3D with_unified_addresses(abi::CUDA_MEMCPY3D p) noexcept {
  if (!has_explicit_memory_types(p)) return p;
  if (p.srcMemoryType == abi::CU_MEMORYTYPE_HOST) p.srcDevice = detail::device_address(p.srcHost);
  if (p.dstMemoryType == abi::CU_MEMORYTYPE_HOST) p.dstDevice = detail::device_address(p.dstHost);
  p.srcHost = nullptr;
  p.dstHost = nullptr;
  p.srcMemoryType = p.dstMemoryType = abi::CU_MEMORYTYPE_UNIFIED;
  return p;
}

// Returns true if the parameters of the node use unified addresses, as those of a captured copy do.
bool uses_unified_addresses(abi::CUgraphNode node, call_site at) {
  abi::CUDA_MEMCPY3D params{};
  const abi::CUresult answer = driver().cuGraphMemcpyNodeGetParams(node, &params);
  // The node is no copy node. The call that sets its parameters reports that.
  if (answer == abi::CUDA_ERROR_INVALID_VALUE) return false;
  detail::check(answer, "cuGraphMemcpyNodeGetParams", {}, at);
  return params.srcMemoryType == abi::CU_MEMORYTYPE_UNIFIED &&
         params.dstMemoryType == abi::CU_MEMORYTYPE_UNIFIED;
}

void* address_of(abi::CUmemorytype kind, const void* host, abi::CUdeviceptr device) noexcept {
  if (kind == abi::CU_MEMORYTYPE_HOST) return const_cast<void*>(host);
  return detail::to_pointer(device);
}

}  // namespace

copy_parameters::copy_parameters(detail::node_memory&& source, detail::node_memory&& target,
                                 call_site at)
    : width_bytes_{source.bytes},
      height_{1},
      depth_{1},
      owners_{std::move(source.owner), std::move(target.owner)} {
  if (source.bytes > target.bytes) {
    detail::throw_error(
        errc::invalid_value, "weir::copy_parameters", fmt::format("memory at {}", target.address),
        fmt::format("{} bytes do not fit into {}; copy a part of the source, such as x.first(n)",
                    source.bytes, target.bytes),
        at);
  }
  source_.address = source.address;
  source_.context = source.context;
  target_.address = target.address;
  target_.context = target.context;
}

void copy_parameters::throw_size_mismatch(call_site at) {
  detail::throw_error(errc::invalid_value, "weir::copy_parameters", "",
                      "the two boxes differ in size; pass boxes of one size", at);
}

copy_parameters copy_node::parameters(call_site at) const {
  const auto p = detail::params_of(*this, "cuGraphMemcpyNodeGetParams",
                                   &detail::driver_table::cuGraphMemcpyNodeGetParams, at);
  const copy_side source{static_cast<copy_side::memory>(p.srcMemoryType),
                         address_of(p.srcMemoryType, p.srcHost, p.srcDevice),
                         p.srcMemoryType == abi::CU_MEMORYTYPE_ARRAY ? p.srcArray : nullptr,
                         p.srcXInBytes,
                         p.srcY,
                         p.srcZ,
                         p.srcPitch,
                         p.srcHeight,
                         nullptr};
  const copy_side target{static_cast<copy_side::memory>(p.dstMemoryType),
                         address_of(p.dstMemoryType, p.dstHost, p.dstDevice),
                         p.dstMemoryType == abi::CU_MEMORYTYPE_ARRAY ? p.dstArray : nullptr,
                         p.dstXInBytes,
                         p.dstY,
                         p.dstZ,
                         p.dstPitch,
                         p.dstHeight,
                         nullptr};
  copy_parameters parameters{source, target, p.WidthInBytes, p.Height, p.Depth};
  detail::get_owners(*this, parameters.owners_);
  return parameters;
}

std::vector<detail::region> copy_parameters::memory() const {
  return {{source_.address, 1, nullptr}, {target_.address, 1, nullptr}};
}

CUgraphNode_st* copy_parameters::add_to(detail::insertion_point point, call_site at) const {
  detail::require_outside_host_function("cuGraphAddNode", {}, at);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy = to_driver_params(*this, at);
  return detail::add_node(point, params, owners(), memory(), at);
}

void copy_parameters::set_in_graph(graph_node node, call_site at) const {
  detail::require_outside_host_function(set_call, {}, at);
  const abi::CUDA_MEMCPY_NODE_PARAMS copy = to_driver_params(*this, at);
  detail::note_node_memory(node, memory());
  detail::change_node(
      node, node_kind::copy, owners(), set_call,
      [&](abi::CUgraphNode handle) {
        const abi::CUDA_MEMCPY3D params = uses_unified_addresses(handle, at)
                                              ? with_unified_addresses(copy.copyParams)
                                              : copy.copyParams;
        // The driver call has no argument for the context, and memory of pools belongs to no
        // context, so the current context is used. An H200 accepts the call without a current
        // context, but then refuses to change the copy in executables.
        const detail::make_current current{copy.copyCtx, at};
        return driver().cuGraphMemcpyNodeSetParams(handle, &params);
      },
      at);
}

// A copy node in an executable has unified addresses if it was captured, and explicit memory types
// otherwise. New parameters must have that form. The form cannot be queried if the graph was
// destroyed, so both forms are tried. The caller has checked the thread, and stores owners() for
// the executable.
void copy_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const {
  const abi::CUDA_MEMCPY_NODE_PARAMS copy = to_driver_params(*this, at);
  const auto set = [&](const abi::CUDA_MEMCPY3D& params) {
    return driver().cuGraphExecMemcpyNodeSetParams(exec, node.get(), &params, copy.copyCtx);
  };
  abi::CUresult status = set(copy.copyParams);
  if (status == abi::CUDA_ERROR_INVALID_VALUE && has_explicit_memory_types(copy.copyParams))
    status = set(with_unified_addresses(copy.copyParams));
  detail::check_set_in_exec(status, "cuGraphExecMemcpyNodeSetParams", exec, node, node_kind::copy,
                            at);
}

}  // namespace weir
