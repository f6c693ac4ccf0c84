// entry/kernel_node.cpp - cuGraphKernelNode*Attribute*: attributes of kernel nodes.
#include "embedded/entry/graph_handle.hpp"
#include "embedded/model/kernel_work.hpp"

namespace weir::embedded::entry {

namespace {

model::kernel_params* find_kernel_node(CUgraphNode node) {
  model::graph_node* const found = find_node(node);
  return found == nullptr ? nullptr : std::get_if<model::kernel_params>(&found->params);
}

// One that has no effect here is told as it was set, or as it is at first.
bool is_told(CUkernelNodeAttrID which) {
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return true;
    default: return false;
  }
}

CUkernelNodeAttrValue told(const model::kernel_params& of, CUkernelNodeAttrID which) {
  if (const auto found = of.told.find(which); found != of.told.end()) return found->second;
  CUkernelNodeAttrValue value{};
  if (which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap = {0, 1};
  return value;
}

}  // namespace

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID which, CUkernelNodeAttrValue* value) {
  return with_graphs([&](model::process&) -> CUresult {
    const model::kernel_params* const of = find_kernel_node(node);
    if (of == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::launch_shape& shape = of->what->shape();
    switch (which) {
      case CU_LAUNCH_ATTRIBUTE_PRIORITY: value->priority = of->what->priority(); return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: value->cooperative = shape.cooperative ? 1 : 0; return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        value->clusterDim = shape.clustered()
                                ? CUkernelNodeAttrValue::extent{shape.cluster.x, shape.cluster.y, shape.cluster.z}
                                : CUkernelNodeAttrValue::extent{0, 0, 0};
        return CUDA_SUCCESS;
      default:
        if (!is_told(which)) return CUDA_ERROR_INVALID_VALUE;
        *value = told(*of, which);
        return CUDA_SUCCESS;
    }
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID which, const CUkernelNodeAttrValue* value) {
  return with_graphs([&](model::process&) -> CUresult {
    model::kernel_params* const of = find_kernel_node(node);
    if (of == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::launch_shape shape = of->what->shape();
    switch (which) {
      case CU_LAUNCH_ATTRIBUTE_PRIORITY: of->what = of->what->with(shape, value->priority); return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (value->cooperative != 0 && value->cooperative != 1) return CUDA_ERROR_INVALID_VALUE;
        shape.cooperative = value->cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        shape.cluster = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
        if (shape.cluster.x == 0 || shape.grid.x % shape.cluster.x != 0 || shape.cluster.y == 0 ||
            shape.grid.y % shape.cluster.y != 0 || shape.cluster.z == 0 || shape.grid.z % shape.cluster.z != 0) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        break;
      default:
        if (!is_told(which)) return CUDA_ERROR_INVALID_VALUE;
        of->told[which] = *value;
        return CUDA_SUCCESS;
    }
    of->what = of->what->with(shape, of->what->priority());
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return with_graphs([&](model::process&) -> CUresult {
    model::kernel_params* const target = find_kernel_node(to);
    const model::kernel_params* const source = find_kernel_node(from);
    if (target == nullptr || source == nullptr) return CUDA_ERROR_INVALID_VALUE;
    target->take_attributes(*source);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
