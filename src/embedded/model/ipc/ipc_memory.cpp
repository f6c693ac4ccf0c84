// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_memory.cpp - handles of device memory, and memory opened by them.
#include "embedded/model/ipc/ipc_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/host_waits.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/ipc/imported_store.hpp"
#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/allocation_removal.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "embedded/model/memory/memory.hpp"

namespace weir::embedded::model::ipc_memory {

using namespace abi;

namespace {

// An allocation of another process, opened in a context.
struct opened_memory {
  ipc_identity identity;
  allocation* record;
  os::shared_pages pages;
  unsigned open_count;

  // Returns false while the last close() of this memory waits for work. open() during that wait
  // maps the memory a second time, at another address.
  [[nodiscard]] bool usable() const noexcept {
    return record->bytes.load(std::memory_order_acquire) != 0;
  }
};

struct opened_list {
  std::mutex mutex;
  std::vector<opened_memory> entries;
};

opened_list& opened() noexcept {
  // Never destroyed, because destructors of static objects may still close memory.
  static opened_list& list = *new opened_list;
  return list;
}

}  // namespace

CUresult handle_of(CUdeviceptr address, CUipcMemHandle& out) {
  allocation* found = address_map::find(address);
  if (found == nullptr || found->kind != memory_kind::device) return CUDA_ERROR_INVALID_VALUE;
  if (found->store == nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // the system created no store
  const int piece = found->store->publish(*found);
  if (piece < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const ipc_identity identity{.kind = ipc_kind::memory,
                              .process = getpid(),
                              .fd = found->store->segment().fd(),
                              .identity = found->store->identity(),
                              .id = found->id,
                              .number = piece};
  identity.write(out);
  return CUDA_SUCCESS;
}

CUresult open(context& owner_context, const CUipcMemHandle& handle, CUdeviceptr& out) {
  ipc_identity remote;
  if (!remote.read(handle, ipc_kind::memory)) return CUDA_ERROR_INVALID_VALUE;
  if (remote.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  const imported_store store = imported_store::open(remote.segment());
  if (!store) return CUDA_ERROR_INVALID_HANDLE;
  device* target_device = this_process().find_device_by_number(store.device());
  if (target_device == nullptr) return CUDA_ERROR_INVALID_DEVICE;

  const std::lock_guard lock{opened().mutex};
  std::vector<opened_memory>& entries = opened().entries;
  const auto opened_entry = std::ranges::find_if(entries, [&](const opened_memory& m) {
    return m.usable() && m.identity.identity == remote.identity && m.identity.id == remote.id;
  });
  if (opened_entry != entries.end()) {
    if (opened_entry->record->owner_context != &owner_context) return CUDA_ERROR_INVALID_HANDLE;
    ++opened_entry->open_count;
    out = opened_entry->record->start();
    return CUDA_SUCCESS;
  }
  imported_store::piece piece = store.map(remote);
  if (!piece.pages) return CUDA_ERROR_INVALID_VALUE;
  entries.reserve(entries.size() + 1);
  const std::uintptr_t start = piece.start();
  allocation& record = address_map::instance().add(start, piece.bytes,
                                                   {.kind = memory_kind::opened,
                                                    .owner_context = &owner_context,
                                                    .memory_device = target_device});
  entries.push_back({remote, &record, std::move(piece.pages), 1});
  out = start;
  record.open(piece.bytes);
  return CUDA_SUCCESS;
}

CUresult close(CUdeviceptr address) {
  std::optional<allocation_removal> removal;
  {
    const std::lock_guard lock{opened().mutex};
    const auto opened_entry = std::ranges::find(
        opened().entries, address, [](const opened_memory& m) { return m.record->start(); });
    if (opened_entry == opened().entries.end()) return CUDA_ERROR_INVALID_VALUE;
    if (opened_entry->open_count > 1) {
      --opened_entry->open_count;
      return CUDA_SUCCESS;
    }
    // Fails if another thread has closed the memory first.
    if (!removal.emplace(address, memory_kind::opened)) return CUDA_ERROR_INVALID_VALUE;
  }
  if (makes_allowed_waits()) {
    context& owner = removal->owner_context();
    owner.synchronize();
    forget(removal->commit(), &owner);
  } else {
    memory::free_when_idle(removal->commit());
  }
  return CUDA_SUCCESS;
}

void forget(allocation& record, const context* awaited) noexcept {
  os::shared_pages pages;
  {
    const std::lock_guard lock{opened().mutex};
    std::vector<opened_memory>& entries = opened().entries;
    const auto forgotten = std::ranges::find(entries, &record, &opened_memory::record);
    if (forgotten == entries.end()) return;
    pages = std::move(forgotten->pages);
    entries.erase(forgotten);
  }
  // Removes the record before the pages are unmapped, because other mappings may get the addresses
  // afterwards.
  address_map::instance().remove(record);
  const std::size_t bytes = pages.bytes();
  freed_memory::release_pages(pages.release(), bytes, awaited);
}

}  // namespace weir::embedded::model::ipc_memory
