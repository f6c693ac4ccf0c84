// model/device_memory.cpp - device and managed memory, and the end of every kind that a device can
// reach.
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/ipc/external_memory.hpp"
#include "embedded/model/ipc/ipc_memory.hpp"
#include "embedded/model/ipc/shared_store.hpp"
#include "embedded/model/memory/allocation_removal.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/memory/memory.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

#include <array>
#include <span>

namespace weir::embedded::model::memory {

using namespace abi;

namespace {

// What memory of a kind counts against.
device* charged_device(const allocation& record) noexcept {
  return record.kind == memory_kind::device ? record.on : nullptr;
}

// Takes a closed record out of the map and gives what its memory is given back by: in this order,
// because the next owner of the memory may be faster. Other processes can open it no more.
backing_release take_out(allocation& record) noexcept {
  const backing_release release{reinterpret_cast<void*>(record.start()), record.extent,
                                charged_device(record), record.store};
  if (const int piece = record.piece.load(std::memory_order_relaxed); piece >= 0)
    record.store->withdraw(piece);
  address_map::instance().remove(record);
  return release;
}

void free_record(allocation& record) noexcept {
  const memory_kind kind = record.kind;
  if (kind == memory_kind::array) return arrays::release(record);
  if (kind == memory_kind::imported) return external::unmap(record);
  if (kind == memory_kind::opened) return ipc_memory::forget(record);
  if (kind == memory_kind::managed) managed_advice::forget(record);
  const backing_release release = take_out(record);
  if (kind != memory_kind::registered) release.run();
}

// A piece of device or managed memory by its start; null where the driver gave out no such thing.
allocation* find_device_memory(std::uintptr_t address) noexcept {
  allocation* found = address_map::find(address);
  if (found == nullptr || found->start() != address) return nullptr;
  switch (found->kind) {
    case memory_kind::device:
    case memory_kind::managed:
    case memory_kind::pooled:
    case memory_kind::imported:
    case memory_kind::graph: return found;
    case memory_kind::pinned:
    case memory_kind::registered:
    case memory_kind::array:
    case memory_kind::mapped:
    case memory_kind::variable:
    case memory_kind::managed_variable:
    case memory_kind::opened: break;
  }
  return nullptr;
}

CUresult free_pooled(allocation& block, std::uintptr_t address, engine::point until) {
  memory_pool* pool = block.pool;  // null if another thread frees it, too, and was faster
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool freed = pool->sharing.imported() ? pool->sharing.free(block, address, until)
                                              : pool->free(block, address, until);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The end of device memory in the order of a stream. Until then it is there for everybody, and may
// be freed again: what is not there any more is not freed.
struct deferred_free {
  allocation* record;
  unsigned long long id;

  void run() const noexcept {
    allocation* found = address_map::instance().close(record->start(), memory_kind::device, id);
    if (found != nullptr) free_record(*found);
  }
};

}  // namespace

CUresult allocate_device(context& in, std::size_t bytes, CUdeviceptr* out) {
  device& on = in.owner();
  if (bytes > on.total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t extent = backing::extent_of(bytes);
  shared_store* in_store = shared_store::of_device(on.ordinal());
  backing block = backing::allocate(extent, &on, in_store);
  if (!block) {
    pool_registry::release_all_idle(on, nullptr);
    block = backing::allocate(extent, &on, in_store);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  allocation& record =
      address_map::instance().add(reinterpret_cast<std::uintptr_t>(block.get()), extent);
  record.kind = memory_kind::device;
  record.owner = &in;
  record.on = &on;
  record.store = in_store;
  *out = reinterpret_cast<CUdeviceptr>(block.release());
  record.open(bytes);
  return CUDA_SUCCESS;
}

CUresult allocate_managed(context& in, std::size_t bytes, unsigned flags, CUdeviceptr* out) {
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  backing block = backing::allocate(bytes, nullptr);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  allocation& record =
      address_map::instance().add(reinterpret_cast<std::uintptr_t>(block.get()), bytes);
  record.kind = memory_kind::managed;
  record.flags = CU_MEMHOSTALLOC_DEVICEMAP;
  record.sync_memops.store(true, std::memory_order_relaxed);
  record.owner = &in;
  record.on = &in.owner();
  *out = reinterpret_cast<CUdeviceptr>(block.release());
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
  allocation_removal ended{address, found->kind};
  if (!ended) return CUDA_ERROR_INVALID_VALUE;
  ended.owner().wait_for_work();
  free_record(ended.commit());
  return CUDA_SUCCESS;
}

CUresult free_async(CUdeviceptr address, stream& in) {
  if (address == 0) return CUDA_SUCCESS;
  allocation* found = find_device_memory(address);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (found->kind == memory_kind::pooled) return free_pooled(*found, address, in.end_of_use());
  if (found->kind == memory_kind::graph) return graph_memory::free(*found, address, &in);
  if (found->kind != memory_kind::device) return CUDA_ERROR_NOT_SUPPORTED;
  in.submit(
      engine::make_operation(deferred_free{found, found->id}, engine::operation_kind::work, true));
  return CUDA_SUCCESS;
}

// A few at a time: that needs no memory.
void release_context(context& closed) noexcept {
  std::array<allocation*, 64> some;
  std::uintptr_t from = 0;
  for (;;) {
    const std::size_t count = address_map::instance().owned_by(closed, from, some);
    for (allocation* record : std::span{some}.first(count)) {
      if (record->close() != 0) free_record(*record);
    }
    if (count < some.size()) return;
  }
}

}  // namespace weir::embedded::model::memory
