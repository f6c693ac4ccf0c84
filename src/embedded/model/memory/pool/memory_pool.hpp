// model/memory_pool.hpp - stream-ordered allocation: blocks that go from one piece of work to the
// next without a wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/model/ipc/pool_sharing.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/pool/pool_location.hpp"
#include "embedded/model/memory/pool/pool_range.hpp"
#include "embedded/model/memory/pool/pool_space.hpp"

namespace weir::embedded::model {

class device;
class stream;

// A pool of blocks of device memory, or of whatever its place says (pool_location.hpp).
//
// A freed block stays, with the point at which its free is complete. It is given out again where
// nothing can still be using it: in the timeline of its free, whose later work comes after it; in
// one that has waited for the free (follow event dependencies); anywhere once the point is reached
// (opportunistic); and, where there is no other memory left, in a timeline that is made to wait for
// it (internal dependencies). pool_space.hpp has how blocks are split and joined.
//
// Memory is reserved in chunks of 32 MiB, or of an eighth of a small device. One that lies idle
// above the release threshold goes back to the device when a thread has waited for the work that
// used it. As on an H200, a free is known to be complete only where the host has waited for it with
// the stream, an event or the context; other calls that happen to wait do not tell.
//
// Objects are reused (handle_table.hpp): open() begins a life. pool_registry.hpp knows which there
// are.
//
// Thread safety: all members, from any thread.
class memory_pool {
 public:
  // Begins a life. The device is that of the place, or the first one. Throws std::bad_alloc.
  void open(device& on, const pool_location& location, std::size_t max_bytes);

  // Ends it for the program: nothing is kept any more. It is finished when its last block is free.
  void end() noexcept;
  [[nodiscard]] bool finished() const noexcept;

  // After that: gives its addresses back.
  void close() noexcept;

  // Its handle, also once it is destroyed.
  [[nodiscard]] abi::CUmemoryPool handle() const noexcept { return handle_; }
  void set_handle(abi::CUmemoryPool handle) noexcept { handle_ = handle; }

  // Which life it is in; another once end() was called.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_acquire);
  }

  // A block for work that is submitted to the stream from now on. No bytes give null.
  // CUDA_ERROR_OUT_OF_MEMORY where the pool's or the device's memory is used up;
  // CUDA_ERROR_INVALID_VALUE where that life is over, also because it ends meanwhile. Throws
  // std::bad_alloc.
  abi::CUresult allocate(std::size_t bytes, stream& by, std::uint64_t expected_generation,
                         abi::CUdeviceptr* out);

  // Takes back the block at an address; it is in use until the point. False if it is free already,
  // or not what the caller took it for, because another thread freed it, too. Throws
  // std::bad_alloc, and then nothing has changed.
  bool free(allocation& block, std::uintptr_t address, engine::point until);

  // Gives idle memory back to the device as long as `keep` bytes stay. What is not known to be
  // complete stays.
  void trim(std::size_t keep) noexcept;

  // The attributes: the reuse policies as int, all others in 64 bits.
  abi::CUresult get(abi::CUmemPool_attribute attribute, void* value) const noexcept;
  abi::CUresult set(abi::CUmemPool_attribute attribute, const void* value) noexcept;

  // What others may do with it: devices by their ordinals, the host and its node. Its own place may
  // always do everything.
  static constexpr int host = -1;
  static constexpr int host_node = -2;
  [[nodiscard]] abi::CUmemAccess_flags access_of(int user) const noexcept;
  void set_access(int user, abi::CUmemAccess_flags flags);  // throws std::bad_alloc

  [[nodiscard]] device& owner() const noexcept { return *device_.load(std::memory_order_relaxed); }
  [[nodiscard]] const pool_location& location() const noexcept { return location_; }

  pool_sharing sharing;  // what other processes have of it

  // Gives back what lies idle above the threshold. True if there is more, which is not complete
  // yet. Where there is an address sanitizer, it is told of what is free by now.
  bool trim_to_threshold() noexcept;

  // For a device that has run out: gives back all that is idle. Where a stream is named, also what
  // is idle for its later work: that counts as given back at once.
  void release_all_idle(stream* by) noexcept;

 private:
  // With the lock held.
  [[nodiscard]] reuse_policy policy_for(const stream& by, bool reuse_all = false) const noexcept;
  pool_block* find(std::size_t extent, const reuse_policy& by) noexcept;
  void make_live(pool_block& block, std::size_t bytes) noexcept;
  bool open_space();

  // Nothing is found where that life is over.
  allocation* allocate_free(std::size_t bytes, const stream& by, std::uint64_t expected_generation,
                            bool has_grown);
  allocation* allocate_pending(std::size_t bytes, stream& by, std::uint64_t expected_generation);
  bool grow(std::size_t extent, stream& by, std::uint64_t expected_generation);
  bool try_grow(std::size_t extent, const stream& by, std::uint64_t expected_generation);
  bool would_exceed_limit(std::size_t more, std::uint64_t expected_generation) const noexcept;
  bool poison_free() const noexcept;
  [[nodiscard]] abi::CUmemAccess_flags access_of_devices() const noexcept;
  [[nodiscard]] device* charged_device() const noexcept {
    return location_.is_device() ? &owner() : nullptr;
  }

  // What is left when idle memory goes back: not more than so many bytes, or not less.
  enum class trim_bound : std::uint8_t { at_most, at_least };
  void release_idle(trim_bound what, std::size_t bytes, bool complete_will_do,
                    const stream* by) noexcept;

  std::atomic<device*> device_{
      nullptr};  // a caller that is late asks in the next life already: allocate()
  pool_location location_;
  std::size_t max_bytes_ = 0;    // 0: the device's memory is the limit
  std::size_t chunk_bytes_ = 0;  // the steps in which it grows
  abi::CUmemoryPool handle_ = nullptr;

  std::atomic<std::uint64_t> generation_{0};  // set with the lock held

  mutable engine::spin_lock lock_;  // guards what follows
  pool_range range_;
  pool_space space_;
  std::size_t threshold_ = 0;
  std::size_t reserved_ = 0, reserved_high_ = 0;
  std::size_t used_ = 0, used_high_ = 0;
  bool follow_events_ = true;
  bool opportunistic_ = true;
  bool internal_dependencies_ = true;
  bool destroyed_ = false;
  std::vector<std::pair<int, abi::CUmemAccess_flags>> access_;
};

// Is it managed memory, of a pool or by itself?
[[nodiscard]] inline bool is_managed(const allocation& memory) noexcept {
  const memory_pool* pool = memory.pool;
  return memory.kind == memory_kind::managed || memory.kind == memory_kind::managed_variable ||
         (pool != nullptr && pool->location().is_managed());
}

}  // namespace weir::embedded::model
