// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/kernel_node.cpp - cuGraphKernelNode*Attribute*: attributes of kernel nodes.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/kernel/launch_attributes.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::entry {

namespace {

// Returns the value of an attribute that has no effect here: as last set, or its default.
CUkernelNodeAttrValue attribute_value(const model::kernel_params& source_params,
                                      CUkernelNodeAttrID attribute) {
  if (const auto found = source_params.inert_attributes.find(attribute);
      found != source_params.inert_attributes.end())
    return found->second;
  CUkernelNodeAttrValue value{};
  if (attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap = {0, 1};
  return value;
}

// Copies the member of the union that an attribute uses. As on an H200, a query leaves the other
// bytes of the program's value as they are.
void copy_value(CUkernelNodeAttrID attribute, const CUkernelNodeAttrValue& from,
                CUkernelNodeAttrValue& to) {
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      to.accessPolicyWindow = from.accessPolicyWindow;
      return;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: to.clusterDim = from.clusterDim; return;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      to.memSyncDomainMap = from.memSyncDomainMap;
      return;
    default: to.cooperative = from.cooperative; return;  // the others have the size of an int
  }
}

// Returns an error if the node's function cannot be launched with the cluster size in `shape`.
CUresult check_cluster(const model::kernel_params& source_params, model::launch_shape& shape) {
  const CUfunction handle = source_params.function != nullptr
                                ? source_params.function
                                : reinterpret_cast<CUfunction>(source_params.kernel);
  model::function* function = nullptr;
  const CUresult status = model::find_function(
      handle, model::this_process().contexts.find(source_params.context), function);
  return status != CUDA_SUCCESS ? status : model::check_cluster(*function, shape);
}

}  // namespace

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       CUkernelNodeAttrValue* value) {
  return with_graphs([&] {
    const auto* const source_params = find_params<model::kernel_params>(node);
    if (source_params == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::launch_shape& shape = source_params->desc->shape();
    const auto set_value = source_params->inert_attributes.find(attribute);
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value->priority = source_params->desc->priority();
        return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        value->cooperative = set_value != source_params->inert_attributes.end()
                                 ? set_value->second.cooperative
                             : shape.cooperative ? 1
                                                 : 0;
        return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (set_value != source_params->inert_attributes.end()) {
          value->clusterDim = set_value->second.clusterDim;
          return CUDA_SUCCESS;
        }
        // A cluster size that was set at compile time is an attribute of the function, not of the
        // node.
        value->clusterDim =
            shape.clustered() && source_params->desc->kernel().cluster.x == 0
                ? CUkernelNodeAttrValue::extent{shape.cluster.x, shape.cluster.y, shape.cluster.z}
                : CUkernelNodeAttrValue::extent{0, 0, 0};
        return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        value->deviceUpdatableKernelNode = {0, nullptr};
        return CUDA_SUCCESS;
      default:
        // A zero value is valid for each of these attributes, so this rejects all others.
        if (const CUresult status = check_inert_attribute(attribute, {}); status != CUDA_SUCCESS)
          return status;
        copy_value(attribute, attribute_value(*source_params, attribute), *value);
        return CUDA_SUCCESS;
    }
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                       const CUkernelNodeAttrValue* value) {
  return with_graphs([&] {
    auto* const source_params = find_params<model::kernel_params>(node);
    if (source_params == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::launch_shape shape = source_params->desc->shape();
    switch (attribute) {
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        source_params->desc = source_params->desc->with(shape, priority_in_range(value->priority));
        return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: shape.cooperative = value->cooperative != 0; break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        shape.cluster = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
        if (const CUresult error = check_cluster(*source_params, shape)) return error;
        break;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        if (value->deviceUpdatableKernelNode.deviceUpdatable != 0) return CUDA_ERROR_NOT_SUPPORTED;
        return CUDA_SUCCESS;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:  // any value, unlike a launch
        source_params->inert_attributes[attribute] = *value;
        return CUDA_SUCCESS;
      default:
        if (const CUresult error = check_inert_attribute(attribute, *value)) return error;
        source_params->inert_attributes[attribute] = *value;
        return CUDA_SUCCESS;
    }
    if (const CUresult error = model::check_kernel_node_shape(*source_params->desc, shape))
      return error;
    source_params->desc = source_params->desc->with(shape, source_params->desc->priority());
    // Queries report the value as the program set it, also one without an effect.
    source_params->inert_attributes[attribute] = *value;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  return with_graphs([&] {
    auto* const target = find_params<model::kernel_params>(dst);
    const auto* const source = find_params<model::kernel_params>(src);
    return target == nullptr || source == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                  : target->copy_attributes(*source);
  });
}

}  // namespace weir::embedded::entry
