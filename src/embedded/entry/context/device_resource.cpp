// entry/device_resource.cpp - cuDeviceGetDevResource, cuDevSmResourceSplitByCount,
// cuDevResourceGenerateDesc: parts of devices.
#include "embedded/model/core/device_resource.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

#include <algorithm>
#include <vector>

namespace weir::embedded::entry {

CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* resource, CUdevResourceType type) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::device* const device = p.find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    model::device_resource::whole(*device).write(*resource);
    return CUDA_SUCCESS;
  });
}

// Without a place for the groups it only says how many there would be.
CUresult cuDevSmResourceSplitByCount(CUdevResource* groups, unsigned* group_count,
                                     const CUdevResource* input, CUdevResource* rest,
                                     unsigned flags, unsigned least) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (input == nullptr || group_count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    const auto whole = model::device_resource::read(*input);
    if (!whole) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    model::sm_split by;
    if (const CUresult status = model::split_by_count(*whole, least, flags, by);
        status != CUDA_SUCCESS)
      return status;
    if (groups == nullptr) {
      *group_count = by.groups;
      return CUDA_SUCCESS;
    }
    const unsigned taken = std::min(*group_count, by.groups);
    if (taken == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < taken; ++i) by.group.write(groups[i]);
    if (rest != nullptr) model::remaining_after(*whole, by, taken).write(*rest);
    *group_count = taken;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* desc, CUdevResource* resources,
                                   unsigned count) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (desc == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::device_resource> parts;
    for (unsigned i = 0; i < count; ++i) {
      if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
      const auto part = model::device_resource::read(resources[i]);
      if (!part) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      parts.push_back(*part);
    }
    model::device_resource whole;
    if (const CUresult status = model::merge_parts(parts, whole); status != CUDA_SUCCESS)
      return status;
    model::resource_desc* const made = p.resource_descs.acquire();
    made->part = whole;
    *desc = static_cast<CUdevResourceDesc>(p.resource_descs.publish(made));
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
