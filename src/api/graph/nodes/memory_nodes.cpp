// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/memory_nodes.cpp - nodes that allocate and free, and the memory that graphs
// reserve on a device.
#include <weir/graph/nodes/memory_nodes.hpp>

#include "api/device/primary_context.hpp"
#include "api/graph/node_calls.hpp"

#include <vector>

namespace weir {

using detail::check;
using detail::driver;
using detail::to_pointer;

namespace {

abi::CUDA_MEM_ALLOC_NODE_PARAMS allocation_of(graph_node node, call_site at) {
  return detail::params_of(node, "cuGraphMemAllocNodeGetParams",
                           &detail::driver_table::cuGraphMemAllocNodeGetParams, at);
}

unsigned long long query_attribute(device gpu, abi::CUgraphMem_attribute attribute, call_site at) {
  constexpr const char* call = "cuDeviceGetGraphMemAttribute";
  abi::cuuint64_t value = 0;
  check(driver().cuDeviceGetGraphMemAttribute(detail::driver_device(gpu, at), attribute, &value),
        call, gpu, at);
  return value;
}

}  // namespace

void* allocation_node::address(call_site at) const {
  return to_pointer(allocation_of(*this, at).dptr);
}
std::size_t allocation_node::bytes(call_site at) const { return allocation_of(*this, at).bytesize; }
device allocation_node::device(call_site at) const {
  return weir::device{allocation_of(*this, at).poolProps.location.id};
}

void* free_node::address(call_site at) const {
  return to_pointer(detail::params_of(*this, "cuGraphMemFreeNodeGetParams",
                                      &detail::driver_table::cuGraphMemFreeNodeGetParams, at));
}

CUgraphNode_st* allocation_parameters::add_to(detail::insertion_point point, call_site at) const {
  detail::require_outside_host_function("cuGraphAddNode", {}, at);
  std::vector<abi::CUmemAccessDesc> access(accessible_from_.size());
  for (std::size_t i = 0; i < access.size(); ++i) {
    access[i].location = {abi::CU_MEM_LOCATION_TYPE_DEVICE, accessible_from_[i].ordinal()};
    access[i].flags = abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc.poolProps.allocType = abi::CU_MEM_ALLOCATION_TYPE_PINNED;
  params.alloc.poolProps.location = {abi::CU_MEM_LOCATION_TYPE_DEVICE, device_.ordinal()};
  params.alloc.accessDescs = access.empty() ? nullptr : access.data();
  params.alloc.accessDescCount = access.size();
  params.alloc.bytesize = bytes_;
  return detail::add_node(point, params, detail::owner_list{}, at);
}

CUgraphNode_st* free_parameters::add_to(detail::insertion_point point, call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_MEM_FREE;
  params.free.dptr = detail::device_address(address_);
  return detail::add_node(point, params, detail::owner_list{}, at);
}

graph_memory_usage graph_memory_of(device gpu, call_site at) {
  detail::require_outside_host_function("cuDeviceGetGraphMemAttribute", gpu, at);
  graph_memory_usage usage;
  usage.used = query_attribute(gpu, abi::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, at);
  usage.used_high = query_attribute(gpu, abi::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, at);
  usage.reserved = query_attribute(gpu, abi::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, at);
  usage.reserved_high = query_attribute(gpu, abi::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, at);
  return usage;
}

void reset_graph_memory_marks(device gpu, call_site at) {
  constexpr const char* call = "cuDeviceSetGraphMemAttribute";
  detail::require_outside_host_function(call, gpu, at);
  for (const auto attribute :
       {abi::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, abi::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH}) {
    abi::cuuint64_t zero = 0;
    check(driver().cuDeviceSetGraphMemAttribute(detail::driver_device(gpu, at), attribute, &zero),
          call, gpu, at);
  }
}

void trim_graph_memory(device gpu, call_site at) {
  constexpr const char* call = "cuDeviceGraphMemTrim";
  detail::require_outside_host_function(call, gpu, at);
  check(driver().cuDeviceGraphMemTrim(detail::driver_device(gpu, at)), call, gpu, at);
}

}  // namespace weir
