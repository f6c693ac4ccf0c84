// model/allocation.hpp - one piece of memory that the driver knows: where it lies, what it is,
// whose it is.
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

// How the memory came about, which decides how it is freed and what is told of it.
enum class memory_kind : std::uint8_t {
  device,            // cuMemAlloc
  pooled,            // cuMemAllocAsync: a block of a pool
  pinned,            // cuMemHostAlloc
  registered,        // the program's own, cuMemHostRegister
  managed,           // cuMemAllocManaged
  array,             // cuArrayCreate: its address is nobody's business
  mapped,            // cuMemMap: in a range that the program reserved (address_space.hpp)
  imported,          // cuExternalMemoryGetMappedBuffer
  opened,            // another process's, cuIpcOpenMemHandle
  variable,          // of a module: cuModuleGetGlobal
  managed_variable,  // likewise
  graph,  // what a launch of a graph left behind: live only then, while its record is there as long
          // as the addresses
};

// A record of the address map (address_map.hpp). Records are reused but their memory is never given
// back, so that a thread that remembers one may always ask it whether it still holds an address. A
// live one never overlaps another.
//
// What lies between add() and remove() may be read by any thread without a lock; it does not change
// while the record is live, but for `sync_memops` and `access`.
struct allocation {
  std::atomic<std::uintptr_t> base{0};
  std::atomic<std::size_t> bytes{0};  // as asked for; 0 while it is not live
  std::atomic<std::uint32_t> generation{0};
  std::size_t extent = 0;     // what it occupies, at least `bytes`
  unsigned long long id = 0;  // never the same for two allocations
  memory_kind kind = memory_kind::device;
  bool on_host =
      false;  // pinned, registered, or of a host pool: host memory to copies and attributes
  std::atomic<bool> sync_memops{false};
  std::atomic<abi::CUmemAccess_flags> access{
      abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE};  // less of mapped memory and of host pools'
  unsigned flags = 0;                            // as cuMemHostGetFlags tells them
  abi::CUmemAllocationHandleType handle_types =
      abi::CU_MEM_HANDLE_TYPE_NONE;  // how it may be handed on
  context* owner =
      nullptr;  // null for pooled memory, which belongs to its pool, and for mapped memory
  device* on = nullptr;
  memory_pool* pool = nullptr;     // of pooled memory only
  pool_block* block = nullptr;     // likewise; guarded by the pool's lock
  std::uintptr_t range_start = 0;  // of mapped memory only: the range that it is in
  std::size_t range_bytes = 0;
  array* elements = nullptr;    // of an array's memory only
  std::size_t graph_bytes = 0;  // bytes of a graph's memory, live or not; guarded by the map's lock
  std::atomic<graph_block*> backing_block{nullptr};  // likewise of that only
  std::atomic<std::uint64_t> graph_users{
      0};                         // of that only: the devices that may use it, by their ordinals
  shared_store* store = nullptr;  // where it lies, if other processes may have it
  std::atomic<int> piece{-1};     // its number there, once one may open it

  // Asked of a record that may be of another life by now. What is read here is of one: bytes of a
  // life come after its number, its base before them, and a later base after a later number.
  [[nodiscard]] bool holds(std::uintptr_t address) const noexcept {
    const std::uint32_t now = generation.load(std::memory_order_acquire);
    const std::size_t live = bytes.load(std::memory_order_acquire);
    const std::uintptr_t start = base.load(std::memory_order_acquire);
    return address - start < live && generation.load(std::memory_order_relaxed) == now;
  }

  // Do `count` bytes from an address that it holds lie in it?
  [[nodiscard]] bool holds_range(std::uintptr_t address, std::size_t count) const noexcept {
    const std::size_t before = address - base.load(std::memory_order_relaxed);
    const std::size_t live = bytes.load(std::memory_order_acquire);
    return before <= live && count <= live - before;
  }

  // May streams read it, or write it?
  [[nodiscard]] bool allows(abi::CUmemAccess_flags wanted) const noexcept {
    return (access.load(std::memory_order_relaxed) & wanted) == wanted;
  }

  [[nodiscard]] std::uintptr_t start() const noexcept {
    return base.load(std::memory_order_relaxed);
  }

  // Says where the next life is; only while it is not live.
  void move_to(std::uintptr_t address) noexcept {
    generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    base.store(address, std::memory_order_release);
  }

  // Makes it live.
  void open(std::size_t count) noexcept { bytes.store(count, std::memory_order_release); }

  // Ends it. The bytes that it had; 0 if another thread was faster.
  [[nodiscard]] std::size_t close() noexcept {
    return bytes.exchange(0, std::memory_order_acq_rel);
  }
};

}  // namespace weir::embedded::model
