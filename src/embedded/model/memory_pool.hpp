// model/memory_pool.hpp - stream-ordered allocation: blocks that go from one piece of work to the next without a wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/model/allocation.hpp"
#include "embedded/model/pool_place.hpp"
#include "embedded/model/pool_sharing.hpp"

namespace weir::embedded::model {

class device;
class stream;

// A pool of blocks of device memory, or of whatever its place says (pool_place.hpp).
//
// A freed block stays, with the point at which its free is complete. It is given out again where nothing can still be
// using it: in the timeline of its free, whose later work comes after it, or anywhere once the point is reached.
// What lies idle above the release threshold goes back to the device when a thread has waited for work.
//
// Blocks come in eight sizes to the power of two, and are neither split nor joined.
//
// Objects are reused (handle_table.hpp): open() begins a life. pool_registry.hpp knows which there are.
//
// Thread safety: all members, from any thread.
class memory_pool {
 public:
  // Begins a life. The device is that of the place, or the first one. Throws std::bad_alloc.
  void open(device& on, const pool_place& place, std::size_t max_bytes);

  // Ends it for the program: nothing is kept any more. It is finished when its last block is free.
  void end() noexcept;
  [[nodiscard]] bool finished() const noexcept;

  // A block for work that is submitted to the stream from now on. No bytes give null. CUDA_ERROR_OUT_OF_MEMORY where
  // the pool's or the device's memory is used up. Throws std::bad_alloc.
  abi::CUresult allocate(std::size_t bytes, stream& by, abi::CUdeviceptr* out);

  // Takes back the block at an address; it is in use until the point. False if it is free already, or not what the
  // caller took it for, because another thread freed it, too. Throws std::bad_alloc, and then nothing has changed.
  bool free(allocation& block, std::uintptr_t address, engine::point until);

  // Gives idle blocks back to the device while more than `keep` bytes stay. Blocks whose free is not complete stay.
  void trim(std::size_t keep) noexcept;

  // The attributes: the reuse policies as int, all others in 64 bits.
  abi::CUresult get(abi::CUmemPool_attribute attribute, void* value) const noexcept;
  abi::CUresult set(abi::CUmemPool_attribute attribute, const void* value) noexcept;

  // What others may do with it: devices by their ordinals, the host and its node. Its own place may always do
  // everything.
  static constexpr int host = -1;
  static constexpr int host_node = -2;
  [[nodiscard]] abi::CUmemAccess_flags access_of(int user) const noexcept;
  void let_access(int user, abi::CUmemAccess_flags flags);  // throws std::bad_alloc

  [[nodiscard]] device& owner() const noexcept { return *device_; }
  [[nodiscard]] const pool_place& place() const noexcept { return place_; }

  pool_sharing sharing;  // what other processes have of it

  // Gives back what lies idle above the threshold. True if there is more, which is not complete yet.
  bool settle() noexcept;

  // For a device that has run out: gives back all that is idle. Where a stream is named, also what is idle for its
  // later work: that counts as given back at once, and goes in the order of the stream.
  void give_up_idle(stream* by) noexcept;

 private:
  // Free blocks of one size that were freed in one timeline, in that order.
  struct free_list {
    engine::timeline* line;
    allocation* oldest;
    allocation* newest;
  };
  using bin = std::vector<free_list>;

  // With the lock held.
  void push(allocation& block, engine::point until);
  allocation* take(std::size_t extent, const engine::timeline& by) noexcept;
  allocation* take_pending(std::size_t extent) noexcept;
  allocation* unlink(bin& from, std::size_t list, allocation& block) noexcept;
  allocation* collect_idle(std::size_t keep, const engine::timeline* by) noexcept;
  void give_out(allocation& block, std::size_t bytes) noexcept;

  allocation* make_block(std::size_t bytes, stream& by);
  allocation* make_block_of(std::size_t extent, stream& by);
  allocation* wait_for_block(std::size_t extent, stream& by);
  bool reserve(std::size_t extent) noexcept;
  void unreserve(std::size_t extent) noexcept;
  void release(allocation* chain, stream* by) noexcept;
  [[nodiscard]] device* accounted_to() const noexcept { return place_.is_device() ? device_ : nullptr; }

  device* device_ = nullptr;
  pool_place place_;
  std::size_t max_bytes_ = 0;  // 0: the device's memory is the limit

  mutable engine::spin_lock lock_;  // guards what follows
  std::vector<bin> bins_;
  std::size_t threshold_ = 0;
  std::size_t reserved_ = 0, reserved_high_ = 0;
  std::size_t used_ = 0, used_high_ = 0;
  std::size_t idle_ = 0;       // bytes in free blocks
  bool follow_events_ = true;  // told back; a wait for an event does not show which frees it covers
  bool opportunistic_ = true;
  bool internal_dependencies_ = true;
  bool destroyed_ = false;
  std::vector<std::pair<int, abi::CUmemAccess_flags>> access_;
};

// Is it managed memory, of a pool or by itself?
[[nodiscard]] inline bool is_managed(const allocation& memory) noexcept {
  const memory_pool* pool = memory.pool;
  return memory.kind == memory_kind::managed || (pool != nullptr && pool->place().is_managed());
}

}  // namespace weir::embedded::model
