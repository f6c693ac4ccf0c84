// model/stream_attributes.cpp - checking and keeping the attributes of streams.
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

// They change rarely and are no part of any work, so that one lock for all streams will do.
std::mutex attributes_mutex;

// As an H200 has it: a ratio that is no number is as good as any.
bool acceptable(const CUaccessPolicyWindow& window, const device& on) noexcept {
  int most = 0;
  const bool fits = on.attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, most) &&
                    window.num_bytes <= static_cast<std::size_t>(most);
  const bool outside = window.hitRatio < 0.0f || window.hitRatio > 1.0f;
  return fits && !outside && window.missProp != CU_ACCESS_PROPERTY_PERSISTING;
}

bool acceptable(CUsynchronizationPolicy policy) noexcept {
  return policy >= CU_SYNC_POLICY_AUTO && policy <= CU_SYNC_POLICY_BLOCKING_SYNC;
}

bool acceptable(CUlaunchMemSyncDomain domain) noexcept {
  return domain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT || domain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
}

bool acceptable(CUlaunchMemSyncDomainMap map, const device& on) noexcept {
  int domains = 0;
  return on.attribute(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, domains) &&
         map.default_ < domains && map.remote < domains;
}

template <class Value>
CUresult store_if(bool acceptable, Value& attribute, const Value& value) noexcept {
  if (!acceptable) return CUDA_ERROR_INVALID_VALUE;
  attribute = value;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult get_attribute(stream& of, CUstreamAttrID which, CUstreamAttrValue& out) {
  const std::lock_guard lock{attributes_mutex};
  const stream_attributes& have = of.attributes;
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      out.accessPolicyWindow = have.window;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      out.syncPolicy = std::bit_cast<CUsynchronizationPolicy>(have.sync_policy);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: out.priority = of.priority(); return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: out.memSyncDomain = have.domain; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      out.memSyncDomainMap = have.domain_map;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult set_attribute(stream& of, CUstreamAttrID which, const CUstreamAttrValue& value) {
  const std::lock_guard lock{attributes_mutex};
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return store_if(acceptable(value.accessPolicyWindow, of.owner().owner()),
                      of.attributes.window, value.accessPolicyWindow);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      return store_if(acceptable(value.syncPolicy), of.attributes.sync_policy,
                      static_cast<int>(value.syncPolicy));
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      of.set_priority(std::clamp(value.priority, highest_priority, lowest_priority));
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return store_if(acceptable(value.memSyncDomain), of.attributes.domain, value.memSyncDomain);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return store_if(acceptable(value.memSyncDomainMap, of.owner().owner()),
                      of.attributes.domain_map, value.memSyncDomainMap);
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult copy_attributes(stream& to, stream& from) {
  if (&to.owner().base() != &from.owner().base()) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{attributes_mutex};
  to.attributes = from.attributes;
  to.set_priority(from.priority());
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
