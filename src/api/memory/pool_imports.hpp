// SPDX-License-Identifier: Apache-2.0
// api/memory/pool_imports.hpp - imported pools of other processes, with a count of their owners and
// imports.
#pragma once

#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/ipc_pool.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace weir::detail {

// An imported pool. There is one object per pool, however often it is imported. Guarded by the lock
// of pool_imports.
struct pool_import {
  // An allocation that was opened, and the number of objects that own it.
  struct opened_memory {
    CUdeviceptr address;
    int owners;
  };

  CUmemoryPool handle;
  weir::device gpu;
  CUcontext context;
  int owners;  // number of pool objects plus opened allocations
  std::vector<opened_memory> open;
  int imports;  // number of imports in the driver; each must be destroyed
};

// All imported pools of the process.
//
// The driver returns one handle per pool and one address per allocation, however often they are
// imported. It closes a pool when the pool was destroyed as often as it was imported. Therefore
// weir counts the owners.
//
// The lock is held while the driver imports or releases a pool or an allocation. Otherwise a thread
// could receive a handle that another thread is about to release.
class pool_imports {
 public:
  [[nodiscard]] static pool_imports& instance() noexcept;

  // Imports the pool that the file descriptor refers to, and counts one more owner. The caller
  // passes the result to release().
  [[nodiscard]] pool_import& import(int descriptor, device gpu, CUcontext context, call_site at);

  // Opens the allocation that `handle` identifies. Counts one more owner of the allocation and of
  // its pool. The caller passes the address to close().
  [[nodiscard]] CUdeviceptr open(pool_import& imported_pool, const pool_memory_handle& handle,
                                 call_site at);

  // Counts one owner of the allocation and of its pool less. The last owner frees the allocation.
  // Continues if a step fails.
  void close(pool_import& imported_pool, CUdeviceptr address, first_failure& failure) noexcept;
  // Counts one owner of the pool less. The last owner destroys all imports of the pool. Continues
  // if a step fails.
  void release(pool_import& imported_pool, first_failure& failure) noexcept;

 private:
  // Like release(). The caller holds lock_.
  void release_locked(pool_import& import, first_failure& failure) noexcept;

  std::mutex lock_;
  std::vector<std::unique_ptr<pool_import>> all_;
};

}  // namespace weir::detail
