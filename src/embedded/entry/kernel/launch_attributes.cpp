// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/launch_attributes.cpp - reads the attributes of a launch.
#include "embedded/entry/kernel/launch_attributes.hpp"

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

// Finds the event of a launch attribute. Returns CUDA_ERROR_NOT_SUPPORTED for an event with timing,
// and an error for CU_EVENT_RECORD_EXTERNAL, which would need an event node in a graph.
CUresult find_launch_event(CUevent handle, int flags, const model::capture* active_capture,
                           model::event*& out) {
  if ((flags & ~static_cast<int>(CU_EVENT_RECORD_EXTERNAL)) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = find_event(handle, out)) return error;
  if (out->timed()) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags == 0) return CUDA_SUCCESS;
  return active_capture != nullptr ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult read_attribute(const CUlaunchAttribute& attribute, const model::capture* active_capture,
                        launch_attributes& out) {
  const CUlaunchAttributeValue& value = attribute.value;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      out.shape.cooperative = value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      out.shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      // The node of a captured launch reports the value, also one without an effect.
      if (active_capture != nullptr) out.inert_attributes[attribute.id] = value;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      out.preferred_cluster = {value.preferredClusterDim.x, value.preferredClusterDim.y,
                               value.preferredClusterDim.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      return find_launch_event(value.programmaticEvent.event, value.programmaticEvent.flags,
                               active_capture, out.done_event);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return find_launch_event(value.launchCompletionEvent.event, value.launchCompletionEvent.flags,
                               active_capture, out.started_event);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      // As on an H200, only a captured launch may have it. It has no effect on the node, because
      // kernels cannot update nodes here.
      return active_capture != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      out.priority = priority_in_range(value.priority);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      out.programmatic = value.programmaticStreamSerializationAllowed != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: return CUDA_SUCCESS;
    default:
      if (const CUresult error = check_inert_attribute(attribute.id, value)) return error;
      out.inert_attributes[attribute.id] = value;
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

CUresult read_attributes(std::span<const CUlaunchAttribute> attributes,
                         const model::capture* active_capture, launch_attributes& out) {
  for (const CUlaunchAttribute& attribute : attributes) {
    if (const CUresult error = read_attribute(attribute, active_capture, out)) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::entry
