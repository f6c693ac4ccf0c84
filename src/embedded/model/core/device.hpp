// model/device.hpp - an embedded device: what it says of itself, its primary context, its memory.
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

// A device. Made by process::initialise(), never destroyed.
//
// Thread safety: all members, from any thread.
class device {
 public:
  // Throws std::bad_alloc.
  device(int ordinal, std::size_t memory_bytes);

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t total_memory() const noexcept { return total_memory_; }

  // The same for every process and every machine.
  [[nodiscard]] abi::CUuuid uuid() const noexcept;

  // "FFFF:00:00.0": a place on a bus that no machine has, so that it is never taken for that of a
  // GPU.
  [[nodiscard]] std::string bus_id() const;

  // The value of a CU_DEVICE_ATTRIBUTE_*; false for an unknown one.
  [[nodiscard]] bool attribute(abi::CUdevice_attribute which, int& value) const noexcept;

  // Memory in use by allocations of all kinds on this device. reserve_memory() fails, and takes
  // nothing, where it does not fit.
  [[nodiscard]] bool reserve_memory(std::size_t bytes) noexcept;
  void release_memory(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t free_memory() const noexcept;

  // Managed memory that has been here is not free, but gives way to what else is taken.
  void add_managed_bytes(std::size_t bytes) noexcept {
    managed_memory_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void subtract_managed_bytes(std::size_t bytes) noexcept {
    managed_memory_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // Pools and graphs take memory in pieces of so many bytes: 32 MiB, as on an H200, and less where
  // it has little.
  [[nodiscard]] std::size_t chunk() const noexcept { return chunk_; }

  // The primary context's object; alive only while it is retained.
  [[nodiscard]] context& primary() const noexcept { return *primary_; }

  // Counts one more user of the primary context, and brings it to life for the first, or after a
  // reset. CUDA_SUCCESS, or what the device failed with. Throws std::bad_alloc.
  abi::CUresult retain_primary();

  // One user less; the last one ends it, once its work is done, unless there are green contexts.
  // Where there is no user, CUDA_ERROR_INVALID_CONTEXT; with green contexts
  // CUDA_ERROR_NOT_PERMITTED, and it then outlives those, as on an H200. While it waits for the
  // work, all else goes on: who retains the context meanwhile has it, and it does not end.
  abi::CUresult release_primary() noexcept;

  // Ends it for all, once its work is done. Its users stay counted. CUDA_ERROR_NOT_PERMITTED where
  // there are green contexts, also if they come while it waits.
  abi::CUresult reset_primary() noexcept;

  // The same two for green contexts.
  abi::CUresult retain_primary_for_green();
  void release_primary_for_green() noexcept;

  // CU_CTX_* of the primary context, for its present life and later ones.
  [[nodiscard]] unsigned primary_flags() const noexcept {
    return primary_flags_.load(std::memory_order_relaxed);
  }
  void set_primary_flags(unsigned flags);

  // The same where the context itself was told: of that, only whether copies and sets wait is
  // remembered here.
  void update_primary_flags(unsigned flags) noexcept;

  // Where stream-ordered allocations come from; null until somebody asks (pool_registry.hpp).
  std::atomic<memory_pool*> default_pool{nullptr};
  std::atomic<memory_pool*> current_pool{nullptr};

  // What the memory of graphs takes of it (graph_memory.hpp).
  graph_memory_account graph_memory;

 private:
  using primary_lock = std::unique_lock<std::mutex>;
  abi::CUresult open_primary();
  bool wait_for_primary(primary_lock& lock) noexcept;
  void end_unused_primary(primary_lock& lock) noexcept;

  int ordinal_;
  std::string name_;
  std::size_t total_memory_;
  std::size_t chunk_;
  device_attributes attributes_;
  std::atomic<std::size_t> used_memory_{0};
  std::atomic<std::size_t> managed_memory_{0};
  context* primary_;
  std::mutex primary_mutex_;  // serialises retain, release, reset, and what they change
  unsigned primary_users_ = 0;
  unsigned green_context_count_ = 0;
  bool outlives_greens_ = false;
  std::atomic<unsigned> primary_flags_{0};
};

}  // namespace weir::embedded::model
