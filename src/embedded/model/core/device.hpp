// SPDX-License-Identifier: Apache-2.0
// model/core/device.hpp - an embedded device: its attributes, memory use and primary context.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>

#include "driver/abi.hpp"
#include "embedded/model/core/device_attributes.hpp"
#include "embedded/model/graph/memory/graph_memory_account.hpp"

namespace weir::embedded::model {

class context;
class memory_pool;

// An embedded device. Created by process::initialise() and never destroyed.
//
// Thread safety: all members may be called from any thread.
class device {
 public:
  // `number`: the device's number in the machine, by which all processes know it. It differs from
  // the ordinal if CUDA_VISIBLE_DEVICES lists other devices. Throws std::bad_alloc.
  device(int ordinal, int number, std::size_t memory_bytes);

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] static const char* name() noexcept { return "weir embedded device"; }
  [[nodiscard]] std::size_t total_memory() const noexcept { return total_memory_; }

  // Depends only on the number: equal in every process and on every machine.
  [[nodiscard]] abi::CUuuid uuid() const noexcept;

  // Returns "FFFF:00:00.0" for number 0. The PCI domain FFFF exists on no machine, so the ID never
  // matches a GPU.
  [[nodiscard]] std::string bus_id() const;

  // Returns the value of a CU_DEVICE_ATTRIBUTE_*, which must be a known one.
  [[nodiscard]] int attribute(abi::CUdevice_attribute attribute_id) const noexcept {
    return attributes_[attribute_id];
  }

  // Counts memory as used by an allocation of any kind on this device. Returns false, without
  // counting anything, if the device has too little memory left.
  [[nodiscard]] bool reserve_memory(std::size_t bytes) noexcept;
  // No longer counts memory as used. The bytes were counted by reserve_memory().
  void release_memory(std::size_t bytes) noexcept;
  // Returns the bytes of this device that neither allocations nor prefetched managed memory use.
  [[nodiscard]] std::size_t free_memory() const noexcept;

  // Counts managed memory that was prefetched to this device. Such memory reduces free_memory(),
  // but never makes reserve_memory() fail.
  void add_managed_bytes(std::size_t bytes) noexcept {
    managed_memory_.fetch_add(bytes, std::memory_order_relaxed);
  }
  // No longer counts managed memory. The bytes were counted by add_managed_bytes().
  void subtract_managed_bytes(std::size_t bytes) noexcept {
    managed_memory_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // Returns the granularity, in bytes, with which pools and graphs reserve memory: 32 MiB, as on an
  // H200, or an eighth of a small device's memory.
  [[nodiscard]] std::size_t chunk() const noexcept;

  // Returns the primary context, which is alive only while it is retained.
  [[nodiscard]] context& primary() const noexcept { return *primary_; }

  // Adds a user of the primary context, and makes the context alive if it is not. Returns
  // CUDA_SUCCESS, or the error that the device failed with. Throws std::bad_alloc.
  abi::CUresult retain_primary();

  // Removes a user of the primary context. If no user and no green context is left, waits for the
  // work of the context and ends it. If another thread retains the context during that wait, it
  // stays alive.
  //
  // If there is no user to remove, returns CUDA_ERROR_INVALID_CONTEXT, or CUDA_ERROR_NOT_PERMITTED
  // if there are green contexts. After CUDA_ERROR_NOT_PERMITTED, the primary context stays alive
  // when the green contexts end, as on an H200, unless another user or green context is added
  // before.
  abi::CUresult release_primary() noexcept;

  // Waits for the work of the primary context and ends it. Its users stay counted. Returns
  // CUDA_ERROR_NOT_PERMITTED if there are green contexts, or if one is created during the wait.
  abi::CUresult reset_primary() noexcept;

  // Like retain_primary(), for a green context, which keeps the primary context alive as a user
  // does.
  abi::CUresult retain_primary_for_green();
  // Removes a green context that was counted by retain_primary_for_green(). If no green context and
  // no user is left, ends the primary context, unless release_primary() has returned
  // CUDA_ERROR_NOT_PERMITTED.
  void release_primary_for_green() noexcept;

  // The CU_CTX_* flags of the primary context, for its current and later lifetimes.
  [[nodiscard]] unsigned primary_flags() const noexcept {
    return primary_flags_.load(std::memory_order_relaxed);
  }
  // Sets the flags. A primary context that is alive gets them at once.
  void set_primary_flags(unsigned flags);

  // Called when the program sets flags of the primary context by cuCtxSetFlags. Keeps only
  // CU_CTX_SYNC_MEMOPS for later lifetimes.
  void update_primary_flags(unsigned flags) noexcept;

  // The pools for stream-ordered allocation; null until first used (pool_registry.hpp).
  std::atomic<memory_pool*> default_pool{nullptr};
  std::atomic<memory_pool*> current_pool{nullptr};

  // The memory of this device that graphs reserve (graph_memory.hpp).
  graph_memory_account graph_memory{*this};

 private:
  using primary_lock = std::unique_lock<std::mutex>;
  abi::CUresult retain_primary_for(unsigned& users);
  bool wait_for_primary(primary_lock& lock) noexcept;
  void end_unused_primary(primary_lock& lock) noexcept;

  int ordinal_;
  int number_;
  std::size_t total_memory_;
  device_attributes attributes_;
  std::atomic<std::size_t> used_memory_{0};
  std::atomic<std::size_t> managed_memory_{0};
  context* primary_;
  std::mutex primary_mutex_;  // serialises retain, release and reset; guards their counters
  unsigned primary_users_ = 0;
  unsigned green_context_count_ = 0;
  // True if release_primary() was called while only green contexts kept the context alive.
  bool outlives_green_contexts_ = false;
  std::atomic<unsigned> primary_flags_{0};
};

}  // namespace weir::embedded::model
