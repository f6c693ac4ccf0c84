// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/memory_pool.hpp - stream-ordered allocation, which reuses freed blocks
// without blocking the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/model/ipc/pool_sharing.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/pool/pool_attributes.hpp"
#include "embedded/model/memory/pool/pool_location.hpp"
#include "embedded/model/memory/pool/pool_range.hpp"
#include "embedded/model/memory/pool/pool_space.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::model {

class device;
class stream;

// A pool of blocks of memory at a location (pool_location.hpp).
//
// A freed block stores the point at which its free is complete. A point is a position in a
// timeline, the engine's queue of a stream's operations. An allocation may reuse the block if no
// work can still use it:
// - in the timeline of the free, where all later work comes after the free;
// - in a timeline that has waited for the free by an event
//   (CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
// - in any timeline once the point is reached (CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC);
// - if no other memory is left, in any timeline, after adding a wait for the point to it
//   (CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES).
//
// pool_space.hpp splits and joins blocks.
//
// Memory is reserved from the device in chunks of 32 MiB, or of an eighth of a small device
// (device::chunk()). An idle chunk has no block in use. Idle chunks above the release threshold
// return to the device once a thread has waited for the work that used them. As on an H200, only
// host waits for the stream, an event or the context return chunks. Other calls that block do not.
//
// Objects are reused (handle_table.hpp): open() begins a lifetime. pool_registry.hpp has the list
// of all pools.
//
// Thread safety: all members may be called from any thread.
class memory_pool {
 public:
  // Begins a lifetime. `target_device` is the device of the location, or device 0.
  void open(device& target_device, const pool_location& location, std::size_t max_bytes) noexcept;

  // Destroys the pool for the program; blocks in use stay valid. Sets the release threshold to 0,
  // so that all idle memory returns to the device.
  void end() noexcept;
  // Returns true if the pool was destroyed, all its blocks are free, and its memory was returned.
  [[nodiscard]] bool is_finished() const noexcept;

  // Frees the addresses of a pool for which is_finished() returns true, and ends its sharing.
  void close() noexcept;

  // Returns the handle of the pool, also after the pool is destroyed.
  [[nodiscard]] abi::CUmemoryPool handle() const noexcept { return handle_; }
  void set_handle(abi::CUmemoryPool handle) noexcept { handle_ = handle; }

  // Returns the number of the pool's lifetime; end() increments it.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }

  // Allocates a block for work submitted to the stream from now on. 0 bytes give null. Returns
  // CUDA_ERROR_OUT_OF_MEMORY if the pool's limit or the device's memory is reached. Returns
  // CUDA_ERROR_INVALID_VALUE if generation() is no longer `expected_generation`, because the pool
  // was destroyed. Throws std::bad_alloc.
  abi::CUresult allocate(std::size_t bytes, stream& requesting_stream,
                         std::uint64_t expected_generation, abi::CUdeviceptr* out);

  // Frees the block at an address. Work may use the block until the point `until` is reached; a
  // null point means no work uses it. Returns false if another thread has freed the block, or if
  // the record now belongs to another block. Throws std::bad_alloc without changing anything.
  bool free(allocation& block, std::uintptr_t address, engine::point until);

  // Returns idle chunks to the device while at least `keep` bytes stay reserved. A chunk stays
  // unless a wait of the host has shown that the work that used it is complete. The sum of `keep`
  // and the size of a chunk must not wrap around. If work of any stream is pending, the chunks are
  // inaccessible until the pool uses them again.
  void trim(std::size_t keep) noexcept;

  // Gets an attribute like pool_attributes::get().
  abi::CUresult get(abi::CUmemPool_attribute attribute, void* value) const noexcept;
  // Sets an attribute like pool_attributes::set(). If the release threshold changes, the next wait
  // of the host returns idle memory above the new threshold.
  abi::CUresult set(abi::CUmemPool_attribute attribute, const void* value) noexcept;

  // The users of access_of() that are no devices.
  static constexpr int host = -1;
  static constexpr int host_node = -2;
  // Returns the access of `user`: the ordinal of a device, `host` or `host_node`. The pool's own
  // location always has full access.
  [[nodiscard]] abi::CUmemAccess_flags access_of(int user) const noexcept;
  // Sets the access of `user`, as in access_of(). Throws std::bad_alloc.
  void set_access(int user, abi::CUmemAccess_flags flags);

  [[nodiscard]] device& owner_device() const noexcept {
    return *device_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const pool_location& location() const noexcept { return location_; }

  pool_sharing sharing;  // the state of a pool that is shared with other processes

  // Returns idle memory above the release threshold to the device. Returns true if it must be
  // called again: idle memory above the threshold remains, or work may still use returned memory.
  // In an address sanitizer build, also poisons free blocks that no work uses.
  bool trim_to_threshold() noexcept;

  // Called if the device has run out of memory: returns all idle memory that no work uses. If
  // `requesting_stream` is not null, also returns idle memory that only earlier work of that stream
  // uses. Such memory no longer counts against the device at once, because the stream's next work
  // comes after that use.
  void release_all_idle(stream* requesting_stream) noexcept;

 private:
  // allocate_free(), allocate_pending(), grow() and try_grow() acquire lock_. The caller holds it
  // for all other functions below.
  [[nodiscard]] reuse_policy policy_for(const stream& requesting_stream) const noexcept;
  pool_block* find(std::size_t extent, const reuse_policy& policy) noexcept;
  void make_live(pool_block& block, std::size_t bytes) noexcept;
  bool open_space();

  // The functions with `expected_generation` return null or false if generation() has another
  // value, because the pool was destroyed.
  enum class block_search : std::uint8_t { best_fit, adjoining };
  allocation* allocate_free(std::size_t bytes, const stream& requesting_stream,
                            std::uint64_t expected_generation, block_search search);
  allocation* allocate_pending(std::size_t bytes, stream& requesting_stream,
                               std::uint64_t expected_generation);
  bool grow(std::size_t extent, stream& requesting_stream, std::uint64_t expected_generation);
  bool try_grow(std::size_t extent, const stream& requesting_stream,
                std::uint64_t expected_generation);
  void commit_missing(pool_block& first_uncommitted, std::size_t& missing);
  [[nodiscard]] bool would_exceed_limit(std::size_t additional_bytes) const noexcept;
  [[nodiscard]] bool has_idle_above_threshold() const noexcept;
  bool poison_free() const noexcept;
  [[nodiscard]] abi::CUmemAccess_flags access_of_streams() const noexcept;
  [[nodiscard]] device* charged_device() const noexcept {
    return location_.is_device() ? &owner_device() : nullptr;
  }

  using completion = pool_space::completion;
  void release_idle(std::size_t limit, completion required, const stream* requesting_stream,
                    pool_range::unused_access access = pool_range::unused_access::allowed) noexcept;

  // Atomic, because a thread in allocate() may read it while another thread destroys the pool and
  // the object begins its next lifetime.
  std::atomic<device*> device_{nullptr};
  pool_location location_;
  // The limit of reserved bytes; 0 if only the device's memory limits the pool.
  std::size_t max_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;  // the granularity of growth
  abi::CUmemoryPool handle_ = nullptr;

  std::atomic<std::uint64_t> generation_{0};  // changed only with lock_ held

  mutable weir::os::spin_lock lock_;  // guards the members below
  pool_range range_;
  pool_space space_;
  pool_attributes attributes_;
  bool destroyed_ = false;
  // The access that was granted to each user besides the pool's own location, as in access_of().
  std::map<int, abi::CUmemAccess_flags> access_;
};

// Returns true for managed memory: of cuMemAllocManaged, of a managed variable, or of a managed
// pool.
[[nodiscard]] inline bool is_managed(const allocation& memory) noexcept {
  const memory_pool* pool = memory.pool;
  return memory.kind == memory_kind::managed || memory.kind == memory_kind::managed_variable ||
         (pool != nullptr && pool->location().is_managed());
}

}  // namespace weir::embedded::model
