// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/allocation.hpp - an allocation that the driver knows: address, kind and
// owner.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"

namespace weir::embedded::model {

struct array;
class context;
class device;
struct graph_block;
class memory_pool;
struct pool_block;
class shared_store;

// The origin of memory. It determines how the memory is freed and what attributes report.
enum class memory_kind : std::uint8_t {
  device,            // cuMemAlloc
  pooled,            // cuMemAllocAsync: a block of a pool
  pinned,            // cuMemHostAlloc
  registered,        // cuMemHostRegister: the program's own memory
  managed,           // cuMemAllocManaged
  array,             // cuArrayCreate: its address is not returned to programs
  mapped,            // cuMemMap, in a range that the program reserved (address_space.hpp)
  imported,          // cuExternalMemoryGetMappedBuffer
  opened,            // cuIpcOpenMemHandle: memory of another process
  variable,          // cuModuleGetGlobal: a variable of a module
  managed_variable,  // a managed variable of a module
  // Memory that an allocation node of a graph allocates. It is live from a launch that leaves it
  // allocated to its free. The record exists as long as the graph's addresses are reserved.
  graph,
};

// The members of a record that address_map::add() sets. Pools set them in their own records.
struct allocation_traits {
  memory_kind kind = memory_kind::device;
  // True for pinned and registered memory, and for memory of a host location. Copies and attributes
  // treat it as host memory.
  bool on_host = false;
  unsigned flags = 0;  // as reported by cuMemHostGetFlags
  // The kinds of handles by which the memory may be exported to other processes.
  abi::CUmemAllocationHandleType handle_types = abi::CU_MEM_HANDLE_TYPE_NONE;
  // Null for pooled memory, which belongs to its pool, and for mapped and graph memory.
  context* owner_context = nullptr;
  device* memory_device = nullptr;  // the device whose memory it is
  memory_pool* pool = nullptr;      // pooled memory only
  pool_block* block = nullptr;      // pooled memory only; guarded by the pool's lock
  std::uintptr_t range_start = 0;   // mapped memory only: the reserved range that contains it
  std::size_t range_bytes = 0;
  array* owning_array = nullptr;  // array memory only
  // Graph memory only: its size, live or not; guarded by the map's lock.
  std::size_t graph_bytes = 0;
  // The shared memory in which the allocation lies, so that other processes can open it
  // (shared_store.hpp); null for private memory.
  shared_store* store = nullptr;
};

// A record of the address map (address_map.hpp). A record is live while its memory is allocated:
// from open() to close(). Live records never overlap. Records are reused and never freed, so a
// thread that has cached a pointer to a record can always check whether the record still holds an
// address.
//
// Any thread may read a record without a lock between address_map::add() and address_map::remove().
// While the record is live, only `sync_memops`, `access` and `piece` may change.
struct allocation : allocation_traits {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::size_t> bytes{0};  // as requested; 0 if not live
  // Counts the lifetimes of the record; move_to() increments it.
  std::atomic<std::uint32_t> generation{0};
  std::size_t extent = 0;     // the bytes that it occupies, at least `bytes`
  unsigned long long id = 0;  // unique among allocations
  // The value of CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. As on an H200, managed memory begins with true.
  std::atomic<bool> sync_memops{false};
  // The access that streams have. It may be less than read and write only for mapped memory and
  // host pools.
  std::atomic<abi::CUmemAccess_flags> access{abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::atomic<graph_block*> backing_block{nullptr};  // graph memory only
  // Graph memory only: a bit for the ordinal of each device that may use it.
  std::atomic<std::uint64_t> graph_users{0};
  // The allocation's index in store_header::pieces; -1 until shared_store::publish() has let other
  // processes open it.
  std::atomic<int> piece{-1};

  // Returns true if the allocation is live and contains the address. May be called on a record that
  // was reused meanwhile. The three values that it reads belong to one lifetime: move_to() stores
  // the generation before the base, and open() stores the bytes last.
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    const std::uint32_t first_generation = generation.load(std::memory_order_acquire);
    const std::size_t live = bytes.load(std::memory_order_acquire);
    const std::uintptr_t start = base.load(std::memory_order_acquire);
    return address - start < live && generation.load(std::memory_order_relaxed) == first_generation;
  }

  // Returns true if the allocation contains `count` bytes from an address, which it must contain.
  [[nodiscard]] bool holds_range(std::uintptr_t address, std::size_t count) const noexcept {
    const std::size_t before = address - base.load(std::memory_order_relaxed);
    const std::size_t live = bytes.load(std::memory_order_acquire);
    return before <= live && count <= live - before;
  }

  // Returns true if streams have the `requested` access.
  [[nodiscard]] bool allows(abi::CUmemAccess_flags requested) const noexcept {
    return (access.load(std::memory_order_relaxed) & requested) == requested;
  }

  [[nodiscard]] std::uintptr_t start() const noexcept {
    return base.load(std::memory_order_relaxed);
  }

  // Sets the address of the next lifetime. The caller ensures that the record is not live.
  void move_to(std::uintptr_t address) noexcept {
    generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    base.store(address, std::memory_order_release);
  }

  // Makes the record live with a size of `count` bytes.
  void open(std::size_t count) noexcept { bytes.store(count, std::memory_order_release); }

  // Makes the record no longer live. Returns the bytes that it had, or 0 if another thread has
  // closed it first.
  [[nodiscard]] std::size_t close() noexcept {
    return bytes.exchange(0, std::memory_order_acq_rel);
  }
};

}  // namespace weir::embedded::model
