// entry/node_params.hpp - parameters of graph nodes as programs give them, checked and taken over.
#pragma once

#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/model/graph/graph_node.hpp"

namespace weir::embedded::entry {

// Each checks what is given, pointers too, and copies it. Null for a context is the current one.
// With the lock of the graphs held.
CUresult read_params(const CUDA_HOST_NODE_PARAMS* input, model::node_params& out);
CUresult read_params(const CUDA_MEMSET_NODE_PARAMS* input, CUcontext context,
                     model::node_params& out);
CUresult read_params(const CUDA_MEMCPY3D* input, CUcontext context, model::node_params& out);
CUresult read_params(const CUDA_BATCH_MEM_OP_NODE_PARAMS* input, model::node_params& out);
CUresult read_params(const CUDA_KERNEL_NODE_PARAMS* input, model::node_params& out);
CUresult read_record_params(CUevent event, model::node_params& out);
CUresult read_wait_params(CUevent event, model::node_params& out);

// Parameters of any kind but a child graph; CUDA_ERROR_NOT_SUPPORTED for a conditional node, for
// memory nodes, whose parameters do not change, and for kinds that the embedded driver does not
// have. Unused bytes must be 0.
CUresult read_params(const CUgraphNodeParams* input, model::node_params& out);

// Are all bytes behind the parameters of the kind 0, and the reserved ones?
bool unused_bytes_are_zero(const CUgraphNodeParams& input);

}  // namespace weir::embedded::entry
