// api/memory/pool_imports.cpp - pools of other processes: imported once, counted, and ended with
// their last owner.
#include "api/memory/pool_imports.hpp"

#include "api/capture/relaxed_capture_mode.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/call_in_context.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weir::detail {
namespace {

std::vector<pool_import::opened_memory>::iterator find(pool_import& in,
                                                       CUdeviceptr address) noexcept {
  return std::ranges::find(in.open, address, &pool_import::opened_memory::address);
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
  const auto same = [&](const auto& known) { return known->handle == fresh->handle; };
  if (const auto known = std::ranges::find_if(all_, same); known != all_.end()) {
    ++(*known)->owners;
    ++(*known)->imports;
    return **known;
  }
  all_.push_back(std::move(fresh));
  return *all_.back();
}

CUdeviceptr pool_imports::open(pool_import& from, const pool_memory_handle& handle, call_site at) {
  const std::lock_guard lock{lock_};
  from.open.reserve(from.open.size() + 1);
  CUmemPoolPtrExportData exported;
  static_assert(sizeof exported == sizeof handle.bytes);
  std::memcpy(&exported, handle.bytes, sizeof exported);
  CUdeviceptr address = 0;
  check(driver().cuMemPoolImportPointer(&address, from.handle, &exported), "cuMemPoolImportPointer",
        memory_pool_ref{from.handle, from.gpu}, at);
  ++from.owners;
  if (const auto known = find(from, address); known != from.open.end()) {
    ++known->owners;
  } else {
    from.open.push_back({address, 1});
  }
  return address;
}

void pool_imports::close(pool_import& from, CUdeviceptr address, first_failure& failure) noexcept {
  const std::lock_guard lock{lock_};
  if (const auto known = find(from, address); --known->owners == 0) {
    from.open.erase(known);
    release_in_context(from, failure,
                       [&] { failure.note(driver().cuMemFree_v2(address), "cuMemFree"); });
  }
  release_locked(from, failure);
}

void pool_imports::release(pool_import& from, first_failure& failure) noexcept {
  const std::lock_guard lock{lock_};
  release_locked(from, failure);
}

void pool_imports::release_locked(pool_import& import, first_failure& failure) noexcept {
  if (--import.owners != 0) return;
  // All at the end: drivers refuse to while memory of the pool is open.
  release_in_context(import, failure, [&] {
    for (; import.imports != 0; --import.imports) {
      failure.note(driver().cuMemPoolDestroy(import.handle), "cuMemPoolDestroy");
    }
  });
  std::erase_if(all_, [&](const auto& known) { return known.get() == &import; });
}

}  // namespace weir::detail
