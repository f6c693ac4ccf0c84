// SPDX-License-Identifier: Apache-2.0
// probe/graph/build_graph.cpp - adds nodes to a graph, one line each.
#include "probe/graph/build_graph.hpp"

#include "probe/driver.hpp"
#include "probe/record.hpp"

#include <cstring>

namespace weir::conformance {

CUgraphNode add_host(CUgraph gr, const Nodes& deps, CUhostFn fn, void* data) {
  CUDA_HOST_NODE_PARAMS p{};
  p.fn = fn;
  p.userData = data;
  CUgraphNode n = nullptr;
  OK(cuGraphAddHostNode(&n, gr, deps.data(), deps.size(), &p));
  return n;
}
CUgraphNode add_label(CUgraph gr, const Nodes& deps, const std::string& name, Trace* t) {
  return add_host(gr, deps, label_fn, new_label(name, t));
}
CUgraphNode add_empty(CUgraph gr, const Nodes& deps) {
  CUgraphNode n = nullptr;
  OK(cuGraphAddEmptyNode(&n, gr, deps.data(), deps.size()));
  return n;
}
CUDA_MEMSET_NODE_PARAMS memset_params(CUdeviceptr dst, unsigned value, size_t width, unsigned elem,
                                      size_t height, size_t pitch) {
  CUDA_MEMSET_NODE_PARAMS p{};
  p.dst = dst;
  p.pitch = pitch;
  p.value = value;
  p.elementSize = elem;
  p.width = width;
  p.height = height;
  return p;
}
CUgraphNode add_memset(CUgraph gr, const Nodes& deps, CUdeviceptr dst, unsigned value,
                       size_t width) {
  CUDA_MEMSET_NODE_PARAMS p = memset_params(dst, value, width);
  CUgraphNode n = nullptr;
  OK(cuGraphAddMemsetNode(&n, gr, deps.data(), deps.size(), &p, g.ctx));
  return n;
}
CUDA_MEMCPY3D copy_params(CUmemorytype dt, void* dh, CUdeviceptr dd, CUmemorytype st,
                          const void* sh, CUdeviceptr sd, size_t n) {
  CUDA_MEMCPY3D p{};
  p.dstMemoryType = dt;
  p.dstHost = dh;
  p.dstDevice = dd;
  p.srcMemoryType = st;
  p.srcHost = sh;
  p.srcDevice = sd;
  p.WidthInBytes = n;
  p.Height = 1;
  p.Depth = 1;
  return p;
}
CUDA_MEMCPY3D copy_h2d(CUdeviceptr d, const void* s, size_t n) {
  return copy_params(CU_MEMORYTYPE_DEVICE, nullptr, d, CU_MEMORYTYPE_HOST, s, 0, n);
}
CUDA_MEMCPY3D copy_d2h(void* d, CUdeviceptr s, size_t n) {
  return copy_params(CU_MEMORYTYPE_HOST, d, 0, CU_MEMORYTYPE_DEVICE, nullptr, s, n);
}
CUDA_MEMCPY3D copy_d2d(CUdeviceptr d, CUdeviceptr s, size_t n) {
  return copy_params(CU_MEMORYTYPE_DEVICE, nullptr, d, CU_MEMORYTYPE_DEVICE, nullptr, s, n);
}
CUDA_MEMCPY3D by_address(CUDA_MEMCPY3D p) {
  if (p.srcMemoryType == CU_MEMORYTYPE_HOST) p.srcDevice = as_address(p.srcHost);
  if (p.dstMemoryType == CU_MEMORYTYPE_HOST) p.dstDevice = as_address(p.dstHost);
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.srcHost = nullptr;
  p.dstHost = nullptr;
  return p;
}
CUdeviceptr as_address(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }
CUgraphNode add_memcpy(CUgraph gr, const Nodes& deps, const CUDA_MEMCPY3D& p) {
  CUgraphNode n = nullptr;
  OK(cuGraphAddMemcpyNode(&n, gr, deps.data(), deps.size(), &p, g.ctx));
  return n;
}
CUgraphNode add_child(CUgraph gr, const Nodes& deps, CUgraph child) {
  CUgraphNode n = nullptr;
  OK(cuGraphAddChildGraphNode(&n, gr, deps.data(), deps.size(), child));
  return n;
}
CUstreamBatchMemOpParams op_wait(CUdeviceptr a, uint32_t v, unsigned flags) {
  CUstreamBatchMemOpParams p;
  memset(&p, 0, sizeof p);
  p.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  p.waitValue.address = a;
  p.waitValue.value = v;
  p.waitValue.flags = flags;
  return p;
}
CUstreamBatchMemOpParams op_write(CUdeviceptr a, uint32_t v, unsigned flags) {
  CUstreamBatchMemOpParams p;
  memset(&p, 0, sizeof p);
  p.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  p.writeValue.address = a;
  p.writeValue.value = v;
  p.writeValue.flags = flags;
  return p;
}
CUgraphNode add_memop(CUgraph gr, const Nodes& deps, CUstreamBatchMemOpParams op) {
  CUDA_BATCH_MEM_OP_NODE_PARAMS p{};
  p.ctx = g.ctx;
  p.count = 1;
  p.paramArray = &op;
  p.flags = 0;
  CUgraphNode n = nullptr;
  OK(cuGraphAddBatchMemOpNode(&n, gr, deps.data(), deps.size(), &p));
  return n;
}
CUgraphNode add_gate(CUgraph gr, const Nodes& deps, ValueGate& v) {
  return add_memop(gr, deps, op_wait(v.cell().d, 1));
}
CUgraphNode add_record(CUgraph gr, const Nodes& deps, CUevent e) {
  CUgraphNode n = nullptr;
  OK(cuGraphAddEventRecordNode(&n, gr, deps.data(), deps.size(), e));
  return n;
}
CUgraphNode add_wait(CUgraph gr, const Nodes& deps, CUevent e) {
  CUgraphNode n = nullptr;
  OK(cuGraphAddEventWaitNode(&n, gr, deps.data(), deps.size(), e));
  return n;
}

CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t n) {
  CUDA_MEM_ALLOC_NODE_PARAMS p;
  memset(&p, 0, sizeof p);
  p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.poolProps.location.id = g.dev;
  p.bytesize = n;
  return p;
}
CUgraphNode add_alloc(CUgraph gr, const Nodes& deps, size_t n, CUdeviceptr* out) {
  CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(n);
  CUgraphNode nd = nullptr;
  OK(cuGraphAddMemAllocNode(&nd, gr, deps.data(), deps.size(), &p));
  *out = p.dptr;
  return nd;
}
CUgraphNode add_free(CUgraph gr, const Nodes& deps, CUdeviceptr d) {
  CUgraphNode nd = nullptr;
  OK(cuGraphAddMemFreeNode(&nd, gr, deps.data(), deps.size(), d));
  return nd;
}

CUgraphNodeParams cond_params(CUgraphConditionalHandle h, CUgraphConditionalNodeType type,
                              unsigned size) {
  CUgraphNodeParams p;
  memset(&p, 0, sizeof p);
  p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  p.conditional.handle = h;
  p.conditional.type = type;
  p.conditional.size = size;
  p.conditional.ctx = g.ctx;
  return p;
}

}  // namespace weir::conformance
