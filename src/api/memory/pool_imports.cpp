// SPDX-License-Identifier: Apache-2.0
// api/memory/pool_imports.cpp - pools of other processes, released with their last owner.
#include "api/memory/pool_imports.hpp"

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/make_current.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weir::detail {
namespace {

std::vector<pool_import::opened_memory>::iterator find_opened(pool_import& imported_pool,
                                                              CUdeviceptr address) noexcept {
  return std::ranges::find(imported_pool.open, address, &pool_import::opened_memory::address);
}

template <class Call>
void release_in_context(const pool_import& import, first_failure& failure, Call call) noexcept {
  call_in_context(import.context, failure, [&] {
    const relaxed_capture_mode guard{call_site{}};
    call();
  });
}

}  // namespace

pool_imports& pool_imports::instance() noexcept {
  static never_destroyed<pool_imports> singleton;
  return *singleton;
}

pool_import& pool_imports::import(int descriptor, device gpu, CUcontext context, call_site at) {
  const std::lock_guard lock{lock_};
  all_.reserve(all_.size() + 1);
  auto fresh = std::make_unique<pool_import>(pool_import{nullptr, gpu, context, 1, {}, 1});
  void* const exported = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  check(driver().cuMemPoolImportFromShareableHandle(&fresh->handle, exported,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemPoolImportFromShareableHandle", gpu, at);
  const auto same = [&](const auto& entry) { return entry->handle == fresh->handle; };
  if (const auto entry = std::ranges::find_if(all_, same); entry != all_.end()) {
    ++(*entry)->owners;
    ++(*entry)->imports;
    return **entry;
  }
  all_.push_back(std::move(fresh));
  return *all_.back();
}

CUdeviceptr pool_imports::open(pool_import& imported_pool, const pool_memory_handle& handle,
                               call_site at) {
  const std::lock_guard lock{lock_};
  imported_pool.open.reserve(imported_pool.open.size() + 1);
  CUmemPoolPtrExportData exported;
  static_assert(sizeof exported == sizeof handle.bytes);
  std::memcpy(&exported, handle.bytes, sizeof exported);
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

void pool_imports::close(pool_import& imported_pool, CUdeviceptr address,
                         first_failure& failure) noexcept {
  const std::lock_guard lock{lock_};
  if (const auto entry = find_opened(imported_pool, address); --entry->owners == 0) {
    imported_pool.open.erase(entry);
    release_in_context(imported_pool, failure,
                       [&] { failure.note(driver().cuMemFree_v2(address), "cuMemFree"); });
  }
  release_locked(imported_pool, failure);
}

void pool_imports::release(pool_import& imported_pool, first_failure& failure) noexcept {
  const std::lock_guard lock{lock_};
  release_locked(imported_pool, failure);
}

void pool_imports::release_locked(pool_import& import, first_failure& failure) noexcept {
  if (--import.owners != 0) return;
  // All imports are destroyed only now, because a driver refuses to destroy an import while memory
  // of the pool is open.
  release_in_context(import, failure, [&] {
    for (; import.imports != 0; --import.imports) {
      failure.note(driver().cuMemPoolDestroy(import.handle), "cuMemPoolDestroy");
    }
  });
  std::erase_if(all_, [&](const auto& entry) { return entry.get() == &import; });
}

}  // namespace weir::detail
