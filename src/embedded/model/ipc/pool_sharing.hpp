// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/pool_sharing.hpp - the part of a pool that is shared with other processes.
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

class device;
class memory_pool;

// The sharing state of a pool. An exportable pool has its memory in a store, which is shared memory
// (shared_store.hpp), and exports a descriptor of the store. An imported pool has the store of
// another process instead of memory of its own. It maps an allocation that the exporting process
// has passed to describe(), and unmaps the allocation when it is freed. Neither process needs the
// other once the descriptor was passed.
//
// Objects are reused with their pools: clear() ends a lifetime. Thread safety: all other members
// may be called from any thread.
class pool_sharing {
 public:
  // Releases the store, for the next lifetime of the pool object.
  void clear() noexcept;

  // Makes the pool exportable. Called before the first allocation from the pool. Returns
  // CUDA_ERROR_OUT_OF_MEMORY if the system cannot create a store.
  abi::CUresult make_shareable(const device& owner_device,
                               const abi::CUmemLocation& location) noexcept;

  // Returns the store that holds the pool's memory; null if the pool is not exportable.
  [[nodiscard]] shared_store* store() const noexcept { return store_; }
  [[nodiscard]] abi::CUmemAllocationHandleType handle_types() const noexcept {
    return store_ != nullptr ? abi::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                             : abi::CU_MEM_HANDLE_TYPE_NONE;
  }

  // Creates a descriptor of the pool, owned by the caller.
  abi::CUresult export_descriptor(int& fd) noexcept;

  // Lets other processes open an allocation of an exported pool. Stores in `out` the data for
  // open().
  abi::CUresult describe(allocation& block, abi::CUmemPoolPtrExportData& out) noexcept;
  // Undoes describe(): other processes can no longer open the allocation. Does nothing if
  // describe() was not called. Called when the allocation is freed, before its record is reused.
  void withdraw(allocation& block) noexcept;

  // Makes the pool an imported one, with the store of the exporting process.
  void import(imported_store store) noexcept;
  [[nodiscard]] bool imported() const noexcept { return imported_.load(std::memory_order_acquire); }
  // Returns the identity of the imported store. The caller ensures that no other thread calls
  // end_import() meanwhile.
  [[nodiscard]] std::uint64_t identity() const noexcept { return imported_store_.identity(); }

  // Maps the allocation that describe() has stored in `data`. `owner_pool` is the imported pool to
  // which this object belongs. An allocation that is already mapped keeps its address. Throws
  // std::bad_alloc.
  abi::CUresult open(const abi::CUmemPoolPtrExportData& data, memory_pool& owner_pool,
                     abi::CUdeviceptr& out);

  // Unmaps an allocation of an imported pool once `until` is reached, a point in a timeline of the
  // engine. Returns false if another thread has freed the allocation first, or if it does not start
  // at `address`. Throws std::bad_alloc without changing anything.
  bool free(allocation& block, std::uintptr_t address, engine::point until);

  // Returns true if an allocation of the imported pool is mapped.
  [[nodiscard]] bool has_mappings() const noexcept;

  // Ends the import: open() fails from now on. Returns false, and changes nothing, if an allocation
  // is mapped.
  [[nodiscard]] bool end_import() noexcept;

 private:
  struct opened {
    unsigned long long id;  // of the allocation, in the exporting process
    allocation* record;
    os::shared_pages pages;
  };

  shared_store* store_ = nullptr;
  std::atomic<bool> exported_{false};
  std::atomic<bool> imported_{false};
  mutable std::mutex mutex_;       // guards the members below, and which allocations are published
  imported_store imported_store_;  // not empty from import() to end_import()
  std::vector<opened> open_allocations_;
};

}  // namespace weir::embedded::model
