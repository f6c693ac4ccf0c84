// SPDX-License-Identifier: Apache-2.0
// model/core/device.cpp - identifiers and memory use of a device, and the lifetime of its primary
// context.
#include "embedded/model/core/device.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/visible_devices.hpp"

namespace weir::embedded::model {

device::device(int ordinal, int number, std::size_t memory_bytes)
    : ordinal_{ordinal},
      number_{number},
      total_memory_{memory_bytes},
      attributes_{describe_attributes(number)},
      primary_{this_process().contexts.acquire()} {
  this_process().contexts.publish(primary_);
}

abi::CUuuid device::uuid() const noexcept { return uuid_of_device(number_); }

std::string device::bus_id() const {
  const auto unsigned_attribute = [this](abi::CUdevice_attribute attribute_id) {
    return static_cast<unsigned>(attribute(attribute_id));
  };
  char text[48];
  std::snprintf(text, sizeof text, "%04X:%02X:%02X.0",
                unsigned_attribute(abi::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                unsigned_attribute(abi::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
                unsigned_attribute(abi::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  return text;
}

std::size_t device::chunk() const noexcept {
  constexpr std::size_t default_chunk = std::size_t{32} << 20;
  constexpr std::size_t min_chunk = std::size_t{64} << 10;
  return std::clamp(std::bit_floor(total_memory_ / 8), min_chunk, default_chunk);
}

bool device::reserve_memory(std::size_t bytes) noexcept {
  std::size_t used = used_memory_.load(std::memory_order_relaxed);
  do {
    if (bytes > total_memory_ - used) return false;
  } while (!used_memory_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void device::release_memory(std::size_t bytes) noexcept {
  used_memory_.fetch_sub(bytes, std::memory_order_relaxed);
}

std::size_t device::free_memory() const noexcept {
  const std::size_t unreserved = total_memory_ - used_memory_.load(std::memory_order_relaxed);
  return unreserved - std::min(unreserved, managed_memory_.load(std::memory_order_relaxed));
}

// Adds one to `users`, the number of users or of green contexts that keep the primary context
// alive, and makes the context alive if it is not. Ends the effect of an earlier release_primary()
// that returned CUDA_ERROR_NOT_PERMITTED.
abi::CUresult device::retain_primary_for(unsigned& users) {
  const std::lock_guard lock{primary_mutex_};
  outlives_green_contexts_ = false;  // only an earlier release_primary() had asked for it
  if (!primary_->alive()) {
    const unsigned flags = primary_flags() | abi::CU_CTX_MAP_HOST;
    if (const abi::CUresult error = primary_->open(*this, flags)) return error;
  }
  ++users;
  return abi::CUDA_SUCCESS;
}

abi::CUresult device::retain_primary() { return retain_primary_for(primary_users_); }

abi::CUresult device::retain_primary_for_green() {
  return retain_primary_for(green_context_count_);
}

abi::CUresult device::release_primary() noexcept {
  primary_lock lock{primary_mutex_};
  if (primary_users_ == 0) {
    if (green_context_count_ == 0) return abi::CUDA_ERROR_INVALID_CONTEXT;
    outlives_green_contexts_ = true;
    return abi::CUDA_ERROR_NOT_PERMITTED;
  }
  --primary_users_;
  end_unused_primary(lock);
  return abi::CUDA_SUCCESS;
}

abi::CUresult device::reset_primary() noexcept {
  primary_lock lock{primary_mutex_};
  const unsigned long long generation = primary_->generation();
  do {
    if (green_context_count_ != 0) return abi::CUDA_ERROR_NOT_PERMITTED;
    // Another thread may have ended the context during the wait.
    if (!primary_->alive() || primary_->generation() != generation) return abi::CUDA_SUCCESS;
  } while (wait_for_primary(lock));
  primary_->close();
  return abi::CUDA_SUCCESS;
}

void device::release_primary_for_green() noexcept {
  primary_lock lock{primary_mutex_};
  --green_context_count_;
  if (!outlives_green_contexts_) end_unused_primary(lock);
}

// Waits for the work of the primary context. Releases the lock meanwhile, because the awaited work
// may need a thread that retains or releases the context. Returns false, without releasing the
// lock, if no work was pending. After true, the caller must check its conditions again.
bool device::wait_for_primary(primary_lock& lock) noexcept {
  if (primary_->idle()) return false;
  lock.unlock();
  primary_->synchronize_to_end();
  lock.lock();
  return true;
}

// Ends the primary context once it is idle, unless a user or green context keeps it alive.
void device::end_unused_primary(primary_lock& lock) noexcept {
  do {
    if (primary_users_ != 0 || green_context_count_ != 0 || !primary_->alive()) return;
  } while (wait_for_primary(lock));
  primary_->close();
}

void device::update_primary_flags(unsigned flags) noexcept {
  const std::lock_guard lock{primary_mutex_};
  constexpr unsigned kept = abi::CU_CTX_SYNC_MEMOPS;
  primary_flags_.store((primary_flags() & ~kept) | (flags & kept), std::memory_order_relaxed);
}

void device::set_primary_flags(unsigned flags) {
  const std::lock_guard lock{primary_mutex_};
  primary_flags_.store(flags, std::memory_order_relaxed);
  if (primary_->alive())
    primary_->flags.store(flags | abi::CU_CTX_MAP_HOST, std::memory_order_relaxed);
}

}  // namespace weir::embedded::model
