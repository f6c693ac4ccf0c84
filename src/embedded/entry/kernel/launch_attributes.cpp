// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/launch_attributes.cpp - reads the attributes of a launch.
#include "embedded/entry/kernel/launch_attributes.hpp"

#include <algorithm>

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

// The event of a launch has no timing, and cannot be recorded as a graph's event node.
CUresult find_launch_event(model::process& p, CUevent handle, int flags, bool captures,
                           model::event*& out) {
  if ((flags & ~static_cast<int>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = find_event(p, handle, out); status != CUDA_SUCCESS) return status;
  if (out->timed()) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags == 0) return CUDA_SUCCESS;
  return captures ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult read_attribute(model::process& p, const CUlaunchAttribute& one, bool captures,
                        launch_attributes& out) {
  const CUlaunchAttributeValue& value = one.value;
  switch (one.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      out.shape.cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      out.shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      out.preferred_cluster = {value.preferredClusterDim.x, value.preferredClusterDim.y,
                               value.preferredClusterDim.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      return find_launch_event(p, value.programmaticEvent.event, value.programmaticEvent.flags,
                               captures, out.done_event);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return find_launch_event(p, value.launchCompletionEvent.event,
                               value.launchCompletionEvent.flags, captures, out.started_event);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return captures ? CUDA_SUCCESS
                      : CUDA_ERROR_NOT_SUPPORTED;  // kernels cannot update nodes here
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      out.priority = priority_in_range(value.priority);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      out.programmatic = value.programmaticStreamSerializationAllowed != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return CUDA_SUCCESS;
    default:
      if (const CUresult status = check_inert_attribute(one.id, value); status != CUDA_SUCCESS)
        return status;
      out.inert_attributes[one.id] = value;
      return CUDA_SUCCESS;
  }
}

}  // namespace

CUresult check_inert_attribute(CUlaunchAttributeID attribute,
                               const CUlaunchAttributeValue& value) noexcept {
  constexpr unsigned domains = 4;  // as CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT reports
  const auto if_true = [](bool good) { return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; };
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return if_true(value.clusterSchedulingPolicyPreference <=
                     CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return if_true(value.memSyncDomainMap.default_ < domains &&
                     value.memSyncDomainMap.remote < domains);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return if_true(value.memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return if_true(value.sharedMemCarveout <= 100);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

int priority_in_range(int requested) noexcept {
  return std::clamp(requested, model::highest_priority, model::lowest_priority);
}

CUresult read_attributes(model::process& p, std::span<const CUlaunchAttribute> all, bool captures,
                         launch_attributes& out) {
  for (const CUlaunchAttribute& one : all) {
    if (const CUresult status = read_attribute(p, one, captures, out); status != CUDA_SUCCESS)
      return status;
  }
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::entry
