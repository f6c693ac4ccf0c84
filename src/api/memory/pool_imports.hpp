// SPDX-License-Identifier: Apache-2.0
// api/memory/pool_imports.hpp - the imported pools of other processes, counted per import.
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

// An imported pool; one object per pool, however often it is imported. Guarded by the lock of
// pool_imports.
struct pool_import {
  struct opened_memory {
    CUdeviceptr address;
    int owners;
  };

  CUmemoryPool handle;
  weir::device gpu;
  CUcontext context;
  int owners;  // owners of the import: objects and opened allocations
  std::vector<opened_memory> open;
  int imports;  // imports as the driver counts them; each must be destroyed
};

// The driver returns one handle per pool and one address per allocation, however often they are
// imported. A pool ends when it was destroyed as often as it was imported, so owners are counted
// here. The lock is held while the driver imports or releases something. Otherwise a thread could
// receive what another thread is about to release.
// one is about to end.
class pool_imports {
 public:
  [[nodiscard]] static pool_imports& instance() noexcept;

  // Imports the pool behind the descriptor and adds an owner.
  [[nodiscard]] pool_import& import(int descriptor, device gpu, CUcontext context, call_site at);

  // Opens the memory behind the handle and adds an owner to it and to its pool.
  [[nodiscard]] CUdeviceptr open(pool_import& imported_pool, const pool_memory_handle& handle,
                                 call_site at);

  // Remove an owner. Both complete all steps even if one fails.
  void close(pool_import& imported_pool, CUdeviceptr address, first_failure& failure) noexcept;
  void release(pool_import& imported_pool, first_failure& failure) noexcept;

 private:
  void release_locked(pool_import& import, first_failure& failure) noexcept;

  std::mutex lock_;
  std::vector<std::unique_ptr<pool_import>> all_;
};

}  // namespace weir::detail
