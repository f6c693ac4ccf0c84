// entry/later.cpp - functions of later.def that say what is wrong with their arguments, though they can do nothing with right ones.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    return module == nullptr || image == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t,
                                CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    return node == nullptr || graph == nullptr || params == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                                    : CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, size_t, CUdeviceptr address) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    return node == nullptr || graph == nullptr || address == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  });
}

}  // namespace weir::embedded::entry
