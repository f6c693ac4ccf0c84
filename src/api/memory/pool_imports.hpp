// api/memory/pool_imports.hpp - the pools of other processes that this one has, as often as they
// were asked for.
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

// A pool as the driver has imported it: one, however often it was asked for. Changed with the lock
// of all of them.
struct pool_import {
  struct opened_memory {
    CUdeviceptr address;
    int owners;
  };

  CUmemoryPool handle;
  weir::device gpu;
  CUcontext context;
  int owners;  // of the import: objects, and pieces that are open
  std::vector<opened_memory> open;
  int imports;  // as the driver counts them, each to be destroyed
};

// The driver gives the same handle for the same pool, which ends when it was destroyed as often as
// it was imported, and the same address for the same memory; so objects are counted here. The lock
// is held while the driver imports or ends something: else one thread might be given what another
// one is about to end.
class pool_imports {
 public:
  [[nodiscard]] static pool_imports& instance() noexcept;

  // One more owner of the pool behind the descriptor.
  [[nodiscard]] pool_import& import(int descriptor, device gpu, CUcontext context, call_site at);

  // One more owner of the memory behind the handle, and of its pool.
  [[nodiscard]] CUdeviceptr open(pool_import& from, const pool_memory_handle& handle, call_site at);

  // One less. Both go on to their end, whatever fails.
  void close(pool_import& from, CUdeviceptr address, first_failure& failure) noexcept;
  void release(pool_import& from, first_failure& failure) noexcept;

 private:
  void release_locked(pool_import& import, first_failure& failure) noexcept;

  std::mutex lock_;
  std::vector<std::unique_ptr<pool_import>> all_;
};

}  // namespace weir::detail
