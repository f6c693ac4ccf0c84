// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/memory.cpp - allocates, registers and frees device, managed and pinned
// memory.
#include "embedded/model/memory/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/host_waits.hpp"
#include "embedded/model/core/settings.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/ipc/external_memory.hpp"
#include "embedded/model/ipc/ipc_memory.hpp"
#include "embedded/model/ipc/shared_store.hpp"
#include "embedded/model/memory/address_space.hpp"
#include "embedded/model/memory/allocation_removal.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/deferred_operation.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model::memory {

using namespace abi;

void free_record(allocation& record, const context* awaited) noexcept {
  const memory_kind kind = record.kind;
  if (kind == memory_kind::array) return arrays::release(record, awaited);
  if (kind == memory_kind::imported) return external::unmap(record, awaited);
  if (kind == memory_kind::opened) return ipc_memory::forget(record, awaited);
  if (kind == memory_kind::managed) managed_advice::forget(record);
  // Other processes can no longer open the memory.
  if (record.piece.load(std::memory_order_relaxed) >= 0) record.store->withdraw(record);
  const std::uintptr_t start = record.start();
  auto* const address = reinterpret_cast<void*>(start);
  const std::size_t extent = record.extent;
  // Only memory of cuMemAlloc counts against its device.
  device* const charged = kind == memory_kind::device ? record.memory_device : nullptr;
  shared_store* const store = record.store;
  // The record is removed first, because the next owner of the addresses adds its own record.
  address_map::instance().remove(record);
  if (kind == memory_kind::registered)
    return freed_memory::release_registration(start, extent, awaited);
  if (kind == memory_kind::pinned) return freed_memory::release_pinned(address, extent, awaited);
  freed_memory::release_block(address, extent, charged, store, awaited);
}

namespace {

struct free_operation {
  allocation* record;

  void run() const noexcept { free_record(*record, nullptr); }
};

}  // namespace

void free_when_idle(allocation& record) noexcept {
  address_map::instance().note_removal();  // a launch may not use the memory from now on
  if (record.kind == memory_kind::device || record.kind == memory_kind::array)
    std::exchange(record.memory_device, nullptr)->release_memory(record.extent);
  run_when_idle(engine::make_unconditional_operation(free_operation{&record}));
}

namespace {

// Frees memory after the work of the context that owns it. The call waits for that work unless
// host_waits::least is configured.
CUresult free_after_work(std::uintptr_t address, memory_kind kind) {
  allocation_removal removal{address, kind};
  if (!removal) return CUDA_ERROR_INVALID_VALUE;
  if (makes_allowed_waits()) {
    context& owner = removal.owner_context();
    owner.wait_for_work();
    free_record(removal.commit(), &owner);
  } else {
    free_when_idle(removal.commit());
  }
  return CUDA_SUCCESS;
}

// The memory that cuMemFree frees. Other kinds have calls of their own.
constexpr std::array freed_by_mem_free{memory_kind::device, memory_kind::managed,
                                       memory_kind::pooled, memory_kind::imported,
                                       memory_kind::graph};

// Returns the memory that cuMemFree frees at an address, or null if the driver returned no such
// pointer.
allocation* find_device_memory(std::uintptr_t address) noexcept {
  allocation* found = address_map::find(address);
  if (found == nullptr || found->start() != address) return nullptr;
  return std::ranges::find(freed_by_mem_free, found->kind) != freed_by_mem_free.end() ? found
                                                                                      : nullptr;
}

CUresult free_pooled(allocation& block, std::uintptr_t address, engine::point until) {
  memory_pool* pool = block.pool;  // null if another thread freed it first
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool freed = pool->sharing.imported() ? pool->sharing.free(block, address, until)
                                              : pool->free(block, address, until);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// An operation that frees device memory in stream order. Until the operation runs, calls still find
// the memory, and another call may free it. The operation then does nothing, because no live record
// has this ID.
struct deferred_free {
  allocation* record;
  unsigned long long id;

  void run() const noexcept {
    allocation* found = address_map::instance().close(record->start(), memory_kind::device, id);
    if (found != nullptr) free_record(*found, nullptr);
  }
};

// Returns true if the operating system has mapped every page of the range.
bool is_mapped(std::uintptr_t address, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = address & ~(page - 1);
  const std::uintptr_t length = address + bytes - first;
  return msync(reinterpret_cast<void*>(first), length, MS_ASYNC) == 0;
}

// Adds a record for a new allocation of a context. The record is not live yet, and now owns the
// block. Sets the context and its device in `traits`.
allocation& add_record(backing& block, std::size_t extent, context& owner_context,
                       allocation_traits traits) {
  traits.owner_context = &owner_context;
  traits.memory_device = &owner_context.owner();
  allocation& record =
      address_map::instance().add(reinterpret_cast<std::uintptr_t>(block.get()), extent, traits);
  block.release();
  return record;
}

}  // namespace

CUresult allocate_device(context& owner_context, std::size_t bytes, CUdeviceptr* out) {
  device& target_device = owner_context.owner();
  if (bytes > target_device.total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t extent = backing::extent_of(bytes);
  shared_store* store = shared_store::for_device(target_device.number());
  backing block = pool_registry::allocate_backing(extent, target_device, store);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  allocation& record =
      add_record(block, extent, owner_context, {.kind = memory_kind::device, .store = store});
  *out = record.start();
  record.open(bytes);
  return CUDA_SUCCESS;
}

CUresult allocate_managed(context& owner_context, std::size_t bytes, unsigned flags,
                          CUdeviceptr* out) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  backing block = backing::allocate(bytes, nullptr);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  allocation& record =
      add_record(block, bytes, owner_context,
                 {.kind = memory_kind::managed, .flags = CU_MEMHOSTALLOC_DEVICEMAP});
  record.sync_memops.store(true, std::memory_order_relaxed);
  *out = record.start();
  record.open(bytes);
  return CUDA_SUCCESS;
}

CUresult free_device(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  allocation* found = find_device_memory(address);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->kind == memory_kind::pooled) {
    const CUresult status = free_pooled(*found, address, {});
    pool_registry::after_synchronize();
    return status;
  }
  if (found->kind == memory_kind::graph) return graph_memory::free(*found, address, nullptr);
  return free_after_work(address, found->kind);
}

CUresult free_async(CUdeviceptr address, stream& target_stream) {
  if (address == 0) return CUDA_SUCCESS;
  allocation* found = find_device_memory(address);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->kind == memory_kind::pooled)
    return free_pooled(*found, address, target_stream.end_of_use());
  if (found->kind == memory_kind::graph) return graph_memory::free(*found, address, &target_stream);
  if (found->kind != memory_kind::device) return CUDA_ERROR_NOT_SUPPORTED;
  target_stream.submit(engine::make_unconditional_operation(deferred_free{found, found->id}));
  return CUDA_SUCCESS;
}

CUresult allocate_pinned(context& owner_context, std::size_t bytes, unsigned flags, void** out) {
  constexpr unsigned valid_flags =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if ((flags & ~valid_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *out = nullptr;
    return CUDA_SUCCESS;
  }
  // Without this check the operating system would overcommit, and the program would fail only when
  // it touches the pages.
  if (bytes > host_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  backing block = backing::allocate(bytes, nullptr);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  // As on a GPU with unified addressing, pinned memory is always mapped. It is portable unless it
  // is write-combined.
  flags |= CU_MEMHOSTALLOC_DEVICEMAP;
  if ((flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0) flags |= CU_MEMHOSTALLOC_PORTABLE;
  allocation& record = add_record(block, bytes, owner_context,
                                  {.kind = memory_kind::pinned, .on_host = true, .flags = flags});
  *out = reinterpret_cast<void*>(record.start());
  record.open(bytes);
  return CUDA_SUCCESS;
}

CUresult free_pinned(void* pointer) {
  if (pointer == nullptr) return CUDA_SUCCESS;
  return free_after_work(reinterpret_cast<std::uintptr_t>(pointer), memory_kind::pinned);
}

CUresult register_host(context& owner_context, void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned valid_flags =
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || bytes == 0 || (flags & ~valid_flags) != 0 ||
      address + bytes < address) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_mapped(address, bytes) || address_space::is_reserved(address))
    return CUDA_ERROR_INVALID_VALUE;
  memory_kind conflict{};
  allocation* record = address_map::instance().add_registration(
      address, bytes, conflict,
      {.kind = memory_kind::registered,
       .on_host = true,
       .flags = (flags & CU_MEMHOSTREGISTER_PORTABLE) | CU_MEMHOSTREGISTER_DEVICEMAP,
       .owner_context = &owner_context,
       .memory_device = &owner_context.owner()});
  if (record == nullptr) {
    return conflict == memory_kind::registered ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                               : CUDA_ERROR_INVALID_VALUE;
  }
  if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0) {
    record->access.store(CU_MEM_ACCESS_FLAGS_PROT_READ, std::memory_order_relaxed);
  }
  record->open(bytes);
  return CUDA_SUCCESS;
}

CUresult unregister_host(void* pointer) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address_map::find(address) == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  allocation_removal removal{address, memory_kind::registered};
  if (!removal) return CUDA_ERROR_INVALID_VALUE;
  if (makes_allowed_waits()) removal.owner_context().wait_for_work();
  free_record(removal.commit(),
              nullptr);  // the memory is the program's, so work may go on using it
  return CUDA_SUCCESS;
}

// Frees the memory of a closed context, 64 allocations at a time. A list of all allocations would
// need memory, which may have run out.
void release_context(context& closed) noexcept {
  std::array<allocation*, 64> batch;
  std::uintptr_t first_address = 0;
  for (;;) {
    const std::size_t count = address_map::instance().list_owned_by(closed, first_address, batch);
    for (allocation* record : std::span{batch}.first(count)) {
      if (record->close() != 0) free_record(*record, &closed);
    }
    if (count < batch.size()) return;
  }
}

}  // namespace weir::embedded::model::memory
