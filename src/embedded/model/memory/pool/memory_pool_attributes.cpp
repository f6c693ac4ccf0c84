// model/memory_pool_attributes.cpp - what a pool tells of itself, and what can be set.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// The caller's variable need not be aligned.
template <class Value>
CUresult write(void* to, Value value) noexcept {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}

template <class Value>
Value read(const void* from) noexcept {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

CUresult memory_pool::get(CUmemPool_attribute attribute, void* value) const noexcept {
  const std::lock_guard lock{lock_};
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: return write<int>(value, follow_events_);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: return write<int>(value, opportunistic_);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return write<int>(value, internal_dependencies_);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return write<cuuint64_t>(value, threshold_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return write<cuuint64_t>(value, reserved_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return write<cuuint64_t>(value, reserved_high_);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return write<cuuint64_t>(value, used_);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return write<cuuint64_t>(value, used_high_);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult memory_pool::set(CUmemPool_attribute attribute, const void* value) noexcept {
  const std::lock_guard lock{lock_};
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      follow_events_ = read<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      opportunistic_ = read<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      internal_dependencies_ = read<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = read<cuuint64_t>(value);
      if (space_.has_idle()) pool_registry::request_trim();
      return CUDA_SUCCESS;
    // High marks can only be brought down to what is now.
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (read<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      reserved_high_ = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (read<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      used_high_ = used_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUmemAccess_flags memory_pool::access_of(int user) const noexcept {
  const bool own =
      location_.is_device() ? user == owner().ordinal() : location_.is_host() && user < 0;
  if (own) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const std::lock_guard lock{lock_};
  const auto known =
      std::find_if(access_.begin(), access_.end(), [&](const auto& a) { return a.first == user; });
  return known == access_.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : known->second;
}

void memory_pool::set_access(int user, CUmemAccess_flags flags) {
  const std::lock_guard lock{lock_};
  const auto known =
      std::find_if(access_.begin(), access_.end(), [&](const auto& a) { return a.first == user; });
  if (known == access_.end()) {
    access_.emplace_back(user, flags);
  } else {
    known->second = flags;
  }
  const CUmemAccess_flags now = access_of_devices();
  space_.for_each_in_use(
      [&](allocation& memory) { memory.access.store(now, std::memory_order_relaxed); });
}

// What streams may do with its memory is what any device may; that of a host pool has to be let.
CUmemAccess_flags memory_pool::access_of_devices() const noexcept {
  if (!location_.is_host()) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemAccess_flags most = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  for (const auto& [user, flags] : access_) {
    if (user >= 0) most = std::max(most, flags);
  }
  return most;
}

}  // namespace weir::embedded::model
