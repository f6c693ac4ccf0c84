// SPDX-License-Identifier: Apache-2.0
// api/memory/ipc_pool.cpp - interprocess pools: exported, imported, and memory opened from them.
#include <weir/memory/ipc_pool.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/pool_allocation.hpp"
#include "api/memory/pool_imports.hpp"

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weir::detail {

namespace {

void close_opened_memory(void* address, void* import, first_failure& failure) noexcept {
  pool_imports::instance().close(*static_cast<pool_import*>(import), device_address(address),
                                 failure);
}

constexpr memory_deleter opened_memory_deleter{"cuMemFree", &close_opened_memory};

}  // namespace

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
    first_failure second;
    pool_imports::instance().close(import, address, second);
    throw_error(static_cast<errc>(answer), "cuMemGetAddressRange", import.gpu, at);
  }
  deleter_ = &opened_memory_deleter;
  owner_ = &import;
  device_context_ = import.context;
  address_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  bytes_ = bytes / element_bytes * element_bytes;
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
  pool_memory_handle handle;
  std::memcpy(handle.bytes, &exported, sizeof handle.bytes);
  return handle;
}

ipc_pool ipc_pool::import_fd(int descriptor, weir::device gpu, call_site at) {
  require_outside_host_function("cuMemPoolImportFromShareableHandle", gpu, at);
  CUctx_st* const context = primary_context(gpu, at);
  const make_current current{context, at};
  const relaxed_capture_mode guard{at};
  return ipc_pool{&pool_imports::instance().import(descriptor, gpu, context, at)};
}

ipc_pool::ipc_pool(ipc_pool&& other) noexcept : import_{std::exchange(other.import_, nullptr)} {}

ipc_pool& ipc_pool::operator=(ipc_pool&& other) noexcept {
  ipc_pool replacement{std::move(other)};
  std::swap(import_, replacement.import_);
  return *this;
}

ipc_pool::~ipc_pool() {
  if (closed()) return;
  run_or_defer([import = import_]() noexcept {
    const memory_pool_ref object{import->handle, import->gpu};
    first_failure failure;
    pool_imports::instance().release(*import, failure);
    report_if_failed(failure, object);
  });
}

void ipc_pool::close(call_site at) {
  if (closed()) return;
  const memory_pool_ref object{import_->handle, import_->gpu};
  require_outside_host_function("cuMemPoolDestroy", object, at);
  first_failure failure;
  pool_imports::instance().release(*std::exchange(import_, nullptr), failure);
  check(failure, object, at);
}

weir::device ipc_pool::device() const noexcept { return closed() ? weir::device{} : import_->gpu; }
CUmemPoolHandle_st* ipc_pool::get() const noexcept {
  return closed() ? closed_handle<CUmemPoolHandle_st>() : import_->handle;
}

}  // namespace weir
