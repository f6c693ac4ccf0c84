// entry/launch_attributes.cpp - reading the attributes of a launch.
#include "embedded/entry/launch_attributes.hpp"

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

// An event of a launch tells no time.
CUresult find_launch_event(model::process& p, CUevent handle, int flags, model::event*& out) {
  if ((flags & ~static_cast<int>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = find_event(p, handle, out); status != CUDA_SUCCESS) return status;
  return out->timed() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult read_attribute(model::process& p, const CUlaunchAttribute& one, launch_attributes& out) {
  const CUlaunchAttributeValue& value = one.value;
  switch (one.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      if (value.cooperative != 0 && value.cooperative != 1) return CUDA_ERROR_INVALID_VALUE;
      out.shape.cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      out.shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      return find_launch_event(p, value.programmaticEvent.event, value.programmaticEvent.flags, out.when_done);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return find_launch_event(p, value.launchCompletionEvent.event, value.launchCompletionEvent.flags,
                               out.when_started);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return value.deviceUpdatableKernelNode.deviceUpdatable == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: out.priority = value.priority; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: out.told[one.id] = value; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult read_attributes(model::process& p, std::span<const CUlaunchAttribute> all, launch_attributes& out) {
  for (const CUlaunchAttribute& one : all) {
    if (const CUresult status = read_attribute(p, one, out); status != CUDA_SUCCESS) return status;
  }
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::entry
