// model/pool_sharing.hpp - a pool's part in what several processes have of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/model/ipc/imported_store.hpp"
#include "embedded/model/ipc/shared_store.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

class memory_pool;

// A pool that was made to be exported has its memory in a store (shared_store.hpp), and gives
// others a descriptor of that. One that was imported has such a store instead of memory: what is
// known in it of single allocations is mapped, and unmapped when it is freed. Either works without
// the other process, once the descriptor is here.
//
// Objects are reused with their pools: clear() ends a life. Thread safety: all other members, from
// any thread.
class pool_sharing {
 public:
  void clear() noexcept;

  // For a pool of this process: what is allocated from now on may be shared.
  // CUDA_ERROR_OUT_OF_MEMORY where the system has no store for it.
  abi::CUresult make(int device, const abi::CUmemLocation& location) noexcept;

  // Where the pool's memory lies; null for a pool of this process alone.
  [[nodiscard]] shared_store* store() const noexcept { return store_; }
  [[nodiscard]] abi::CUmemAllocationHandleType handle_types() const noexcept {
    return store_ != nullptr ? abi::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                             : abi::CU_MEM_HANDLE_TYPE_NONE;
  }

  // A new descriptor of the pool, the caller's own.
  abi::CUresult export_descriptor(int& fd) noexcept;

  // What another process finds an allocation of the pool by, once the pool was handed out.
  // withdraw() is told when the allocation has ended, before its record may have another life.
  abi::CUresult describe(allocation& block, abi::CUmemPoolPtrExportData& out) noexcept;
  void withdraw(allocation& block) noexcept;

  // Makes it a pool of another process.
  void import(imported_store store) noexcept;
  [[nodiscard]] bool imported() const noexcept { return imported_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t identity() const noexcept { return imported_store_.identity(); }

  // Maps an allocation of the imported pool, which is `as` here; one that is mapped already is
  // where it is. Throws std::bad_alloc.
  abi::CUresult open(const abi::CUmemPoolPtrExportData& data, memory_pool& as,
                     abi::CUdeviceptr& out);

  // Unmaps it once the point is reached. False if another thread was faster. Throws std::bad_alloc,
  // and then nothing has changed.
  bool free(allocation& block, std::uintptr_t address, engine::point until);

  // Is anything of the imported pool mapped?
  [[nodiscard]] bool has_mappings() const noexcept;

  // From now on nothing is. False where something is mapped.
  [[nodiscard]] bool end_import() noexcept;

 private:
  struct opened {
    piece_id name;
    allocation* record;
    imported_mapping pages;
  };

  shared_store* store_ = nullptr;
  std::atomic<bool> exported_{false};
  std::atomic<bool> imported_{false};
  imported_store imported_store_;
  mutable std::mutex mutex_;  // guards what follows, and which allocations may be opened elsewhere
  std::vector<opened> open_;
  bool has_published_ = false;
};

}  // namespace weir::embedded::model
