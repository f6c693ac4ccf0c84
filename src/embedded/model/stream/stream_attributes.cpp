// SPDX-License-Identifier: Apache-2.0
// model/stream/stream_attributes.cpp - checks and stores the attributes of streams.
#include "embedded/model/stream/stream_attributes.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <mutex>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Guards the attributes of all streams. One lock is enough, because attributes change rarely and
// running work does not use them.
std::mutex attributes_mutex;

// Accepts a hit ratio that is not a number, as an H200 does.
bool acceptable(const CUaccessPolicyWindow& window, const device& target_device) noexcept {
  const int max_bytes = target_device.attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  const bool fits = window.num_bytes <= static_cast<std::size_t>(max_bytes);
  const bool outside = window.hitRatio < 0.0f || window.hitRatio > 1.0f;
  return fits && !outside && window.missProp != CU_ACCESS_PROPERTY_PERSISTING;
}

bool acceptable(CUsynchronizationPolicy policy) noexcept {
  return policy >= CU_SYNC_POLICY_AUTO && policy <= CU_SYNC_POLICY_BLOCKING_SYNC;
}

bool acceptable(CUlaunchMemSyncDomain domain) noexcept {
  return domain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT || domain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
}

bool acceptable(CUlaunchMemSyncDomainMap map, const device& target_device) noexcept {
  const int domains = target_device.attribute(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
  return map.default_ < domains && map.remote < domains;
}

template <class Value>
CUresult store_if(bool acceptable, Value& attribute, const Value& value) noexcept {
  if (!acceptable) return CUDA_ERROR_INVALID_VALUE;
  attribute = value;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult get_attribute(stream& target_stream, CUstreamAttrID attribute_id, CUstreamAttrValue& out) {
  const std::lock_guard lock{attributes_mutex};
  const stream_attributes& attributes = target_stream.attributes;
  switch (attribute_id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      out.accessPolicyWindow = attributes.window;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      out.syncPolicy = std::bit_cast<CUsynchronizationPolicy>(attributes.sync_policy);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: out.priority = target_stream.priority(); return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      out.memSyncDomain = attributes.domain;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      out.memSyncDomainMap = attributes.domain_map;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult set_attribute(stream& target_stream, CUstreamAttrID attribute_id,
                       const CUstreamAttrValue& value) {
  const std::lock_guard lock{attributes_mutex};
  switch (attribute_id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return store_if(acceptable(value.accessPolicyWindow, target_stream.owner().owner()),
                      target_stream.attributes.window, value.accessPolicyWindow);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return store_if(acceptable(value.syncPolicy), target_stream.attributes.sync_policy,
                      static_cast<int>(value.syncPolicy));
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      target_stream.set_priority(std::clamp(value.priority, highest_priority, lowest_priority));
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return store_if(acceptable(value.memSyncDomain), target_stream.attributes.domain,
                      value.memSyncDomain);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return store_if(acceptable(value.memSyncDomainMap, target_stream.owner().owner()),
                      target_stream.attributes.domain_map, value.memSyncDomainMap);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult copy_attributes(stream& destination_stream, stream& source_stream) {
  if (&destination_stream.owner().base() != &source_stream.owner().base())
    return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{attributes_mutex};
  destination_stream.attributes = source_stream.attributes;
  destination_stream.set_priority(source_stream.priority());
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
