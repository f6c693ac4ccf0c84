// api/ipc_pool.cpp - pools of other processes: exported, imported, and memory opened from them.
#include <weir/ipc_pool.hpp>

#include "api/check.hpp"
#include "api/free_when_unused.hpp"
#include "api/make_current.hpp"
#include "api/may_wait.hpp"
#include "api/never_destroyed.hpp"
#include "api/pool_allocation.hpp"
#include "api/primary_context.hpp"
#include "api/relaxed_captures.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::detail {

// A pool as the driver has imported it: one, however often it was asked for. Changed with the lock of all of them.
struct pool_import {
  struct piece {
    CUdeviceptr address;
    int owners;
  };

  CUmemoryPool handle;
  weir::device gpu;
  CUcontext context;
  int owners;  // of the import: objects, and pieces that are open
  std::vector<piece> open;
  int imports;  // as the driver counts them, each to be destroyed
};

namespace {

// The driver gives the same handle for the same pool, which ends when it was destroyed as often as it was imported, and the
// same address for the same memory; so objects are counted here. The lock is held while the driver imports or ends
// something: else one thread might be given what another one is about to end.
class pool_imports {
 public:
  static pool_imports& instance() noexcept {
    static never_destroyed<pool_imports> the_one;
    return *the_one;
  }

  pool_import& import(int descriptor, device gpu, CUcontext context, call_site at) {
    const std::lock_guard lock{lock_};
    all_.reserve(all_.size() + 1);
    auto fresh = std::make_unique<pool_import>(pool_import{nullptr, gpu, context, 1, {}, 1});
    void* const told = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
    check(
        driver().cuMemPoolImportFromShareableHandle(&fresh->handle, told, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemPoolImportFromShareableHandle", gpu, at);
    const auto same = [&](const auto& known) { return known->handle == fresh->handle; };
    if (const auto known = std::ranges::find_if(all_, same); known != all_.end()) {
      ++(*known)->owners;
      ++(*known)->imports;
      return **known;
    }
    all_.push_back(std::move(fresh));
    return *all_.back();
  }

  CUdeviceptr open(pool_import& from, const pool_memory_handle& handle, call_site at) {
    const std::lock_guard lock{lock_};
    from.open.reserve(from.open.size() + 1);
    CUmemPoolPtrExportData told;
    static_assert(sizeof told == sizeof handle.bytes);
    std::memcpy(&told, handle.bytes, sizeof told);
    CUdeviceptr address = 0;
    check(driver().cuMemPoolImportPointer(&address, from.handle, &told), "cuMemPoolImportPointer",
          memory_pool_ref{from.handle, from.gpu}, at);
    ++from.owners;
    if (const auto known = find(from, address); known != from.open.end()) {
      ++known->owners;
    } else {
      from.open.push_back({address, 1});
    }
    return address;
  }

  // Both go on to their end, whatever fails.
  void close(pool_import& from, CUdeviceptr address, first_failure& failure) noexcept {
    const std::lock_guard lock{lock_};
    if (const auto known = find(from, address); --known->owners == 0) {
      from.open.erase(known);
      in_context_of(from, failure, [&] { failure.note(driver().cuMemFree_v2(address), "cuMemFree"); });
    }
    drop_locked(from, failure);
  }

  void drop(pool_import& from, first_failure& failure) noexcept {
    const std::lock_guard lock{lock_};
    drop_locked(from, failure);
  }

 private:
  static std::vector<pool_import::piece>::iterator find(pool_import& in, CUdeviceptr address) noexcept {
    return std::ranges::find(in.open, address, &pool_import::piece::address);
  }

  template <class Call>
  static void in_context_of(const pool_import& import, first_failure& failure, Call call) noexcept {
    try {
      const make_current current{import.context, call_site{}};
      const relaxed_captures unharmed{call_site{}};
      call();
    } catch (...) {
      failure.note_exception("cuCtxPushCurrent");
    }
  }

  void drop_locked(pool_import& import, first_failure& failure) noexcept {
    if (--import.owners != 0) return;
    // All at the end: drivers refuse to while memory of the pool is open.
    in_context_of(import, failure, [&] {
      for (; import.imports != 0; --import.imports) {
        failure.note(driver().cuMemPoolDestroy(import.handle), "cuMemPoolDestroy");
      }
    });
    std::erase_if(all_, [&](const auto& known) { return known.get() == &import; });
  }

  std::mutex lock_;
  std::vector<std::unique_ptr<pool_import>> all_;
};

void report(const first_failure& failure, subject on) noexcept {
  if (failure.code != errc::success) report_unraised(failure.code, failure.call, on);
}

}  // namespace

ipc_pool_memory::ipc_pool_memory(const ipc_pool& from, const pool_memory_handle& handle, std::size_t element_bytes,
                                 call_site at) {
  constexpr const char* call = "cuMemPoolImportPointer";
  if (from.closed()) fail_closed(call, subject{}, at);
  pool_import& import = *from.import_;
  permit(call, import.gpu, at);
  const make_current current{import.context, at};
  const relaxed_captures unharmed{at};
  const CUdeviceptr address = pool_imports::instance().open(import, handle, at);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  if (const CUresult answer = driver().cuMemGetAddressRange_v2(&start, &bytes, address); answer != CUDA_SUCCESS) {
    first_failure second;
    pool_imports::instance().close(import, address, second);
    fail(static_cast<errc>(answer), "cuMemGetAddressRange", import.gpu, at);
  }
  import_ = &import;
  device_context_ = import.context;
  address_ = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  bytes_ = bytes / element_bytes * element_bytes;
}

ipc_pool_memory::ipc_pool_memory(ipc_pool_memory&& other) noexcept : import_{std::exchange(other.import_, nullptr)} {
  take(other);
}

ipc_pool_memory& ipc_pool_memory::operator=(ipc_pool_memory&& other) noexcept {
  if (this == &other) return *this;
  const ipc_pool_memory old{std::move(*this)};
  take(other);
  import_ = std::exchange(other.import_, nullptr);
  return *this;
}

ipc_pool_memory::~ipc_pool_memory() {
  if (closed()) return;
  free_when_unused(std::unique_ptr<use_list>{uses_}, [address = address_, import = import_](first_failure failure) {
    pool_imports::instance().close(*import, device_address(address), failure);
    report(failure, subject::memory(address));
  });
}

void ipc_pool_memory::close(call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  permit("cuMemFree", on, at);
  may_wait("cuMemFree", at);
  void* const address = address_;
  first_failure failure;
  if (const std::unique_ptr<use_list> uses{uses_}) uses->sync(failure);
  forget();
  pool_imports::instance().close(*std::exchange(import_, nullptr), device_address(address), failure);
  if (failure.code != errc::success) fail(failure.code, failure.call, on, at);
}

}  // namespace weir::detail

namespace weir {

using namespace detail;

int export_fd(memory_pool_ref pool, call_site at) {
  constexpr const char* call = "cuMemPoolExportToShareableHandle";
  CUmemPoolHandle_st* const handle = usable(pool, call, at);
  const relaxed_captures unharmed{at};
  int made = -1;
  check(driver().cuMemPoolExportToShareableHandle(&made, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), call,
        pool, at);
  fcntl(made, F_SETFD, FD_CLOEXEC);
  return made;
}

pool_memory_handle handle_of(const void* address, call_site at) {
  constexpr const char* call = "cuMemPoolExportPointer";
  const subject on = subject::memory(address);
  permit(call, on, at);
  const relaxed_captures unharmed{at};
  CUmemPoolPtrExportData told;
  check(driver().cuMemPoolExportPointer(&told, device_address(address)), call, on, at);
  pool_memory_handle handle;
  std::memcpy(handle.bytes, &told, sizeof handle.bytes);
  return handle;
}

ipc_pool ipc_pool::import_fd(int descriptor, weir::device gpu, call_site at) {
  permit("cuMemPoolImportFromShareableHandle", gpu, at);
  CUctx_st* const context = primary_context(gpu, at);
  const make_current current{context, at};
  const relaxed_captures unharmed{at};
  return ipc_pool{&pool_imports::instance().import(descriptor, gpu, context, at)};
}

ipc_pool::ipc_pool(ipc_pool&& other) noexcept : import_{std::exchange(other.import_, nullptr)} {}

ipc_pool& ipc_pool::operator=(ipc_pool&& other) noexcept {
  ipc_pool taken{std::move(other)};
  std::swap(import_, taken.import_);
  return *this;
}

ipc_pool::~ipc_pool() {
  if (closed()) return;
  run_or_defer([import = import_]() noexcept {
    const memory_pool_ref on{import->handle, import->gpu};
    first_failure failure;
    pool_imports::instance().drop(*import, failure);
    report(failure, on);
  });
}

void ipc_pool::close(call_site at) {
  if (closed()) return;
  const memory_pool_ref on{import_->handle, import_->gpu};
  permit("cuMemPoolDestroy", on, at);
  first_failure failure;
  pool_imports::instance().drop(*std::exchange(import_, nullptr), failure);
  if (failure.code != errc::success) fail(failure.code, failure.call, on, at);
}

weir::device ipc_pool::device() const noexcept { return closed() ? weir::device{} : import_->gpu; }
CUmemPoolHandle_st* ipc_pool::get() const noexcept {
  return closed() ? closed_handle<CUmemPoolHandle_st>() : import_->handle;
}

}  // namespace weir
