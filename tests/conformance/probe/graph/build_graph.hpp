// SPDX-License-Identifier: Apache-2.0
// probe/graph/build_graph.hpp - adds nodes to a graph, one line each. Every add_ function aborts
// the case if the driver fails.
#pragma once

#include "probe/gates.hpp"
#include "probe/trace.hpp"

#include <string>
#include <vector>

namespace weir::conformance {

using Nodes = std::vector<CUgraphNode>;

CUgraphNode add_host(CUgraph gr, const Nodes& deps, CUhostFn fn, void* data);
CUgraphNode add_label(CUgraph gr, const Nodes& deps, const std::string& name, Trace* t = nullptr);
CUgraphNode add_empty(CUgraph gr, const Nodes& deps = {});
CUgraphNode add_memset(CUgraph gr, const Nodes& deps, CUdeviceptr dst, unsigned value,
                       size_t width = 1);
CUgraphNode add_memcpy(CUgraph gr, const Nodes& deps, const CUDA_MEMCPY3D& p);
CUgraphNode add_child(CUgraph gr, const Nodes& deps, CUgraph child);
CUgraphNode add_memop(CUgraph gr, const Nodes& deps, CUstreamBatchMemOpParams op);
CUgraphNode add_record(CUgraph gr, const Nodes& deps, CUevent e);
CUgraphNode add_wait(CUgraph gr, const Nodes& deps, CUevent e);

// Adds a node that waits until the gate opens, without occupying a thread of the driver.
CUgraphNode add_gate(CUgraph gr, const Nodes& deps, ValueGate& v);

// Nodes that allocate (*out receives the address) and free.
CUDA_MEM_ALLOC_NODE_PARAMS alloc_params(size_t bytes);
CUgraphNode add_alloc(CUgraph gr, const Nodes& deps, size_t bytes, CUdeviceptr* out);
CUgraphNode add_free(CUgraph gr, const Nodes& deps, CUdeviceptr d);

CUDA_MEMSET_NODE_PARAMS memset_params(CUdeviceptr dst, unsigned value, size_t width = 1,
                                      unsigned elem = 4, size_t height = 1, size_t pitch = 0);
CUDA_MEMCPY3D copy_h2d(CUdeviceptr d, const void* s, size_t n);
CUDA_MEMCPY3D copy_d2h(void* d, CUdeviceptr s, size_t n);
CUDA_MEMCPY3D copy_d2d(CUdeviceptr d, CUdeviceptr s, size_t n);
CUDA_MEMCPY3D copy_params(CUmemorytype dst_type, void* dst_host, CUdeviceptr dst_device,
                          CUmemorytype src_type, const void* src_host, CUdeviceptr src_device,
                          size_t n);

// Returns the copy with both sides given by address only (CU_MEMORYTYPE_UNIFIED). as_address()
// gives the address of host memory.
CUDA_MEMCPY3D by_address(CUDA_MEMCPY3D p);
CUdeviceptr as_address(const void* host);

CUstreamBatchMemOpParams op_wait(CUdeviceptr a, uint32_t v,
                                 unsigned flags = CU_STREAM_WAIT_VALUE_GEQ);
CUstreamBatchMemOpParams op_write(CUdeviceptr a, uint32_t v, unsigned flags = 0);

// Returns the parameters of a conditional node for cuGraphAddNode.
CUgraphNodeParams cond_params(CUgraphConditionalHandle h, CUgraphConditionalNodeType type,
                              unsigned size);

}  // namespace weir::conformance
