// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/memory_pool.hpp - stream-ordered allocation: reuses blocks without
// host waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/model/ipc/pool_sharing.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/pool/pool_access.hpp"
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
// A freed block keeps the point at which its free is complete. It is reused where no work can still
// use it:
// - in the timeline of its free, where later work comes after it;
// - in a timeline that has waited for the free (follow event dependencies);
// - anywhere once the point is reached (opportunistic);
// - if no other memory is left, in a timeline that is made to wait for it (internal dependencies).
//
// pool_space.hpp splits and joins blocks.
//
// Memory is reserved in chunks of 32 MiB, or of an eighth of a small device. Idle chunks above the
// release threshold return to the device once a thread has waited for the work that used them. As
// on an H200, only host waits for the stream, an event or the context count; other calls that block
// do not.
//
// Objects are reused (handle_table.hpp): open() begins a life. pool_registry.hpp lists the pools.
//
// Thread safety: all members may be called from any thread.
class memory_pool {
 public:
  // Begins a lifetime. `target_device` is the device of the location, or device 0. Throws
  // std::bad_alloc.
  void open(device& target_device, const pool_location& location, std::size_t max_bytes);

  // Destroys the pool for the program and sets its release threshold to 0. is_finished() returns
  // true once its last block is free and its memory is returned.
  void end() noexcept;
  [[nodiscard]] bool is_finished() const noexcept;

  // Frees the addresses of a finished pool.
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
  // CUDA_ERROR_INVALID_VALUE if the pool of that generation is destroyed before or during the call.
  // Throws std::bad_alloc.
  abi::CUresult allocate(std::size_t bytes, stream& requesting_stream,
                         std::uint64_t expected_generation, abi::CUdeviceptr* out);

  // Frees the block at an address; it stays in use until the point. Returns false if another thread
  // has freed it, or the record now belongs to another block. Throws std::bad_alloc without
  // changing anything.
  bool free(allocation& block, std::uintptr_t address, engine::point until);

  // Returns idle memory to the device while at least `keep` bytes stay reserved. Memory not known
  // to be unused stays.
  void trim(std::size_t keep) noexcept;

  // Get and set attributes (pool_attributes.hpp).
  abi::CUresult get(abi::CUmemPool_attribute attribute, void* value) const noexcept;
  abi::CUresult set(abi::CUmemPool_attribute attribute, const void* value) noexcept;

  // The access of a device, by ordinal, or of pool_access::host and host_node. The pool's own
  // location always has full access.
  [[nodiscard]] abi::CUmemAccess_flags access_of(int user) const noexcept;
  void set_access(int user, abi::CUmemAccess_flags flags);  // throws std::bad_alloc

  [[nodiscard]] device& owner_device() const noexcept {
    return *device_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const pool_location& location() const noexcept { return location_; }

  pool_sharing sharing;  // the pool's state in other processes

  // Returns idle memory above the release threshold to the device. Returns true if more is free but
  // not complete yet. Also poisons completed blocks in an address sanitizer build.
  bool trim_to_threshold() noexcept;

  // For a device that has run out of memory: returns all idle memory. With a stream, also
  // memory that is free for its later work; it counts as returned at once.
  void release_all_idle(stream* requesting_stream) noexcept;

 private:
  // Require the lock.
  [[nodiscard]] reuse_policy policy_for(const stream& requesting_stream) const noexcept;
  [[nodiscard]] reuse_policy policy_for(const stream& requesting_stream,
                                        reuse_policy::reuse_level level) const noexcept;
  pool_block* find(std::size_t extent, const reuse_policy& policy) noexcept;
  void make_live(pool_block& block, std::size_t bytes) noexcept;
  bool open_space();

  // Return nothing if the pool of that generation is destroyed.
  enum class block_search : std::uint8_t { best_fit, adjoining };
  allocation* allocate_free(std::size_t bytes, const stream& requesting_stream,
                            std::uint64_t expected_generation, block_search search);
  allocation* allocate_pending(std::size_t bytes, stream& requesting_stream,
                               std::uint64_t expected_generation);
  bool grow(std::size_t extent, stream& requesting_stream, std::uint64_t expected_generation);
  bool try_grow(std::size_t extent, const stream& requesting_stream,
                std::uint64_t expected_generation);
  void commit_missing(pool_block& first_uncommitted, std::size_t& missing);
  bool would_exceed_limit(std::size_t additional_bytes,
                          std::uint64_t expected_generation) const noexcept;
  bool poison_free() const noexcept;
  [[nodiscard]] abi::CUmemAccess_flags access_of_streams() const noexcept;
  [[nodiscard]] device* charged_device() const noexcept {
    return location_.is_device() ? &owner_device() : nullptr;
  }

  // Whether at most or at least `bytes` bytes stay reserved.
  enum class trim_bound : std::uint8_t { at_most, at_least };
  using completion = pool_space::completion;
  void release_idle(trim_bound bound, std::size_t bytes, completion required,
                    const stream* requesting_stream) noexcept;

  // Atomic, because a late caller of allocate() may read it in the next lifetime.
  std::atomic<device*> device_{nullptr};
  pool_location location_;
  std::size_t max_bytes_ = 0;    // 0: limited by the device's memory
  std::size_t chunk_bytes_ = 0;  // the granularity of growth
  abi::CUmemoryPool handle_ = nullptr;

  std::atomic<std::uint64_t> generation_{0};  // changed with the lock held

  mutable weir::os::spin_lock lock_;  // guards the members below
  pool_range range_;
  pool_space space_;
  pool_attributes attributes_;
  bool destroyed_ = false;
  pool_access access_;
};

// Returns true for managed memory, of a pool or not.
[[nodiscard]] inline bool is_managed(const allocation& memory) noexcept {
  const memory_pool* pool = memory.pool;
  return memory.kind == memory_kind::managed || memory.kind == memory_kind::managed_variable ||
         (pool != nullptr && pool->location().is_managed());
}

}  // namespace weir::embedded::model
