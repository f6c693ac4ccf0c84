// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/node_params.hpp - parameters of graph nodes: validated and copied from the
// program's structures.
#pragma once

#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/model/graph/graph_node.hpp"

namespace weir::embedded::entry {

// Each read_params() function checks its input, including null pointers, and copies it to `out`.
// The caller holds process::graphs_mutex.
//
// A null context means: for a copy and a kernel, the current context. For a memset, the context
// that owns the memory; memory of a pool or graph has none, so that is an error. For a batch of
// value operations, an error.
CUresult read_params(const CUDA_HOST_NODE_PARAMS* input, model::node_params& out);
CUresult read_params(const CUDA_MEMSET_NODE_PARAMS* input, CUcontext context,
                     model::node_params& out);
CUresult read_params(const CUDA_MEMCPY3D* input, CUcontext context, model::node_params& out);
CUresult read_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS* input, model::node_params& out);
CUresult read_params(const CUDA_KERNEL_NODE_PARAMS* input, model::node_params& out);
inline CUresult read_params(const model::empty_params& input, model::node_params& out) {
  out = input;
  return CUDA_SUCCESS;
}
CUresult read_params(const model::record_params& input, model::node_params& out);
CUresult read_params(const model::wait_params& input, model::node_params& out);

// Reads the parameters of any kind of node except child graphs, conditional nodes, allocations,
// frees and external semaphores, for which it returns CUDA_ERROR_NOT_SUPPORTED. Unused bytes must
// be 0.
CUresult read_params(const CUgraphNodeParams* input, model::node_params& out);

// Returns true if the reserved bytes and all bytes after the parameters of the kind are 0.
bool unused_bytes_are_zero(const CUgraphNodeParams& input);

}  // namespace weir::embedded::entry
