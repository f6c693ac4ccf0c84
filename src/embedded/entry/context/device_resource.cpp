// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/device_resource.cpp - cuDeviceGetDevResource, cuDevSmResourceSplitByCount,
// cuDevResourceGenerateDesc: parts of devices.
#include "embedded/model/core/device_resource.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

#include <algorithm>
#include <vector>

namespace weir::embedded::entry {

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource, CUdevResourceType type) {
  return with_device(ordinal, [&](model::device& device) {
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    model::device_resource::whole(device).write(*resource);
    return CUDA_SUCCESS;
  });
}

// Divides a part of a device into at most `*group_count` groups. If `groups` is null, only stores
// the largest possible number of groups.
CUresult cuDevSmResourceSplitByCount(CUdevResource* groups, unsigned* group_count,
                                     const CUdevResource* input, CUdevResource* rest,
                                     unsigned flags, unsigned least) {
  return guarded_outside_host_functions([&](model::process&) {
    if (input == nullptr || group_count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const auto whole = model::device_resource::read(*input);
    if (!whole) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    model::sm_split split;
    if (const CUresult error = model::split_by_count(*whole, least, flags, split)) return error;
    if (groups == nullptr) {
      *group_count = split.groups;
      return CUDA_SUCCESS;
    }
    const unsigned used_groups = std::min(*group_count, split.groups);
    if (used_groups == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < used_groups; ++i) split.group.write(groups[i]);
    if (rest != nullptr) model::remaining_after(*whole, split, used_groups).write(*rest);
    *group_count = used_groups;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* desc, CUdevResource* resources,
                                   unsigned count) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (desc == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::device_resource> parts;
    for (unsigned i = 0; i < count; ++i) {
      if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
      const auto part = model::device_resource::read(resources[i]);
      if (!part) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      parts.push_back(*part);
    }
    model::device_resource whole;
    if (const CUresult error = model::merge_parts(parts, whole)) return error;
    model::resource_desc* const created = p.resource_descs.acquire();
    created->part = whole;
    *desc = static_cast<CUdevResourceDesc>(p.resource_descs.publish(created));
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
