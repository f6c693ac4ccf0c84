// SPDX-License-Identifier: Apache-2.0
// api/memory/ipc_pool.cpp - interprocess pools: exported, imported, and memory opened from them.
#include <weir/memory/ipc_pool.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
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
  int owners = 1;  // number of pool objects plus opened allocations
  std::vector<opened_memory> open = {};
  int driver_imports = 1;  // number of imports in the driver; each must be destroyed
};

namespace {

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
  [[nodiscard]] static pool_imports& instance() noexcept {
    static never_destroyed<pool_imports> singleton;
    return *singleton;
  }

  // Imports the pool that the file descriptor refers to, and counts one more owner. The caller
  // passes the result to release().
  [[nodiscard]] pool_import& import(int descriptor, device gpu, CUcontext context, call_site at) {
    const std::lock_guard lock{lock_};
    all_.reserve(all_.size() + 1);
    std::unique_ptr<pool_import> fresh{new pool_import{nullptr, gpu, context}};
    void* const exported = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
    check(driver().cuMemPoolImportFromShareableHandle(&fresh->handle, exported,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
          "cuMemPoolImportFromShareableHandle", gpu, at);
    const auto entry = std::ranges::find_if(
        all_, [&](const auto& known) { return known->handle == fresh->handle; });
    if (entry != all_.end()) {
      ++(*entry)->owners;
      ++(*entry)->driver_imports;
      return **entry;
    }
    all_.push_back(std::move(fresh));
    return *all_.back();
  }

  // Opens the allocation that `handle` identifies. Counts one more owner of the allocation and of
  // its pool. The caller passes the address to close().
  [[nodiscard]] CUdeviceptr open(pool_import& imported_pool, const pool_memory_handle& handle,
                                 call_site at) {
    const std::lock_guard lock{lock_};
    imported_pool.open.reserve(imported_pool.open.size() + 1);
    auto exported = std::bit_cast<CUmemPoolPtrExportData>(handle);
    CUdeviceptr address = 0;
    check(driver().cuMemPoolImportPointer(&address, imported_pool.handle, &exported),
          "cuMemPoolImportPointer", memory_pool_ref{imported_pool.handle, imported_pool.gpu}, at);
    ++imported_pool.owners;
    if (const auto entry = find_opened(imported_pool, address); entry != imported_pool.open.end()) {
      ++entry->owners;
    } else {
      imported_pool.open.push_back({address, 1});
    }
    return address;
  }

  // Counts one owner of the allocation and of its pool less. The last owner frees the allocation.
  // Continues if a step fails.
  void close(pool_import& imported_pool, CUdeviceptr address, first_failure& failure) noexcept {
    const std::lock_guard lock{lock_};
    if (const auto entry = find_opened(imported_pool, address); --entry->owners == 0) {
      imported_pool.open.erase(entry);
      release_in_context(imported_pool, failure,
                         [&] { failure.note(driver().cuMemFree_v2(address), "cuMemFree"); });
    }
    release_locked(imported_pool, failure);
  }

  // Counts one owner of the pool less. The last owner destroys all imports of the pool. Continues
  // if a step fails.
  void release(pool_import& imported_pool, first_failure& failure) noexcept {
    const std::lock_guard lock{lock_};
    release_locked(imported_pool, failure);
  }

 private:
  [[nodiscard]] static std::vector<pool_import::opened_memory>::iterator find_opened(
      pool_import& imported_pool, CUdeviceptr address) noexcept {
    return std::ranges::find(imported_pool.open, address, &pool_import::opened_memory::address);
  }

  template <class Call>
  static void release_in_context(const pool_import& import, first_failure& failure,
                                 Call call) noexcept {
    call_in_context(import.context, failure, [&] {
      const relaxed_capture_mode guard{call_site{}};
      call();
    });
  }

  // Like release(). The caller holds lock_.
  void release_locked(pool_import& import, first_failure& failure) noexcept {
    if (--import.owners != 0) return;
    // All imports are destroyed only now, because the driver refuses to destroy an import while
    // memory of the pool is open.
    release_in_context(import, failure, [&] {
      for (; import.driver_imports != 0; --import.driver_imports) {
        failure.note(driver().cuMemPoolDestroy(import.handle), "cuMemPoolDestroy");
      }
    });
    std::erase_if(all_, [&](const auto& entry) { return entry.get() == &import; });
  }

  std::mutex lock_;
  std::vector<std::unique_ptr<pool_import>> all_;
};

void close_opened_memory(void* address, void* import, first_failure& failure) noexcept {
  pool_imports::instance().close(*static_cast<pool_import*>(import), device_address(address),
                                 failure);
}

constexpr memory_deleter opened_memory_deleter{"cuMemFree", &close_opened_memory};

}  // namespace

void pool_import_deleter::operator()(pool_import* import) const noexcept {
  run_or_defer([import]() noexcept {
    const memory_pool_ref pool{import->handle, import->gpu};  // release() may destroy *import
    first_failure failure;
    pool_imports::instance().release(*import, failure);
    report_if_failed(failure, pool);
  });
}

ipc_pool_memory::ipc_pool_memory(const ipc_pool& pool, const pool_memory_handle& handle,
                                 std::size_t element_bytes, call_site at) {
  constexpr const char* call = "cuMemPoolImportPointer";
  if (pool.closed()) throw_closed(call, subject{}, at);
  pool_import& import = *pool.import_;
  require_outside_host_function(call, import.gpu, at);
  const make_current current{import.context, at};
  const relaxed_capture_mode guard{at};
  const CUdeviceptr address = pool_imports::instance().open(import, handle, at);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  if (const CUresult answer = driver().cuMemGetAddressRange_v2(&start, &bytes, address);
      answer != CUDA_SUCCESS) {
    first_failure ignored;
    pool_imports::instance().close(import, address, ignored);
    throw_error(static_cast<errc>(answer), "cuMemGetAddressRange", import.gpu, at);
  }
  deleter_ = &opened_memory_deleter;
  owner_ = &import;
  own(to_pointer(address), bytes / element_bytes * element_bytes, import.context);
}

}  // namespace weir::detail

namespace weir {

using namespace detail;

int export_fd(memory_pool_ref pool, call_site at) {
  constexpr const char* call = "cuMemPoolExportToShareableHandle";
  CUmemPoolHandle_st* const handle = require_open(pool, call, at);
  const relaxed_capture_mode guard{at};
  int descriptor = -1;
  check(driver().cuMemPoolExportToShareableHandle(&descriptor, handle,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        call, pool, at);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

pool_memory_handle handle_of(const void* address, call_site at) {
  constexpr const char* call = "cuMemPoolExportPointer";
  const subject object = subject::memory(address);
  require_outside_host_function(call, object, at);
  const relaxed_capture_mode guard{at};
  CUmemPoolPtrExportData exported;
  check(driver().cuMemPoolExportPointer(&exported, device_address(address)), call, object, at);
  return std::bit_cast<pool_memory_handle>(exported);
}

ipc_pool ipc_pool::import_fd(int descriptor, weir::device gpu, call_site at) {
  require_outside_host_function("cuMemPoolImportFromShareableHandle", gpu, at);
  CUctx_st* const context = primary_context(gpu, at);
  const make_current current{context, at};
  const relaxed_capture_mode guard{at};
  return ipc_pool{&pool_imports::instance().import(descriptor, gpu, context, at)};
}

void ipc_pool::close(call_site at) {
  if (closed()) return;
  const memory_pool_ref object{import_->handle, import_->gpu};
  require_outside_host_function("cuMemPoolDestroy", object, at);
  first_failure failure;
  pool_imports::instance().release(*import_.release(), failure);
  check(failure, object, at);
}

weir::device ipc_pool::device() const noexcept { return closed() ? weir::device{} : import_->gpu; }
CUmemPoolHandle_st* ipc_pool::get() const noexcept {
  return closed() ? closed_handle<CUmemPoolHandle_st>() : import_->handle;
}

}  // namespace weir
