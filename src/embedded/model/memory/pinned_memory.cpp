// model/pinned_memory.cpp - host memory that the driver allocates or is told of.
#include <sys/mman.h>
#include <unistd.h>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/settings.hpp"
#include "embedded/model/memory/address_space.hpp"
#include "embedded/model/memory/allocation_removal.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/memory.hpp"

namespace weir::embedded::model::memory {

using namespace abi;

namespace {

// Does every page of these bytes exist?
bool is_mapped(std::uintptr_t from, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = from & ~(page - 1);
  const std::uintptr_t length = from + bytes - first;
  return msync(reinterpret_cast<void*>(first), length, MS_ASYNC) == 0;
}

}  // namespace

CUresult allocate_pinned(context& in, std::size_t bytes, unsigned flags, void** out) {
  constexpr unsigned known =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if ((flags & ~known) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *out = nullptr;
    return CUDA_SUCCESS;
  }
  // The host would promise more than it has, and break the promise at a touch.
  if (bytes > host_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  backing block = backing::allocate(bytes, nullptr);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  allocation& record =
      address_map::instance().add(reinterpret_cast<std::uintptr_t>(block.get()), bytes);
  record.kind = memory_kind::pinned;
  record.on_host = true;
  record.owner = &in;
  record.on = &in.owner();
  // With one range of addresses for all, memory is always mapped, and portable unless it is
  // write-combined.
  record.flags = flags | CU_MEMHOSTALLOC_DEVICEMAP;
  if ((flags & CU_MEMHOSTALLOC_WRITECOMBINED) == 0) record.flags |= CU_MEMHOSTALLOC_PORTABLE;
  *out = block.release();
  record.open(bytes);
  return CUDA_SUCCESS;
}

CUresult free_pinned(void* pointer) {
  if (pointer == nullptr) return CUDA_SUCCESS;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  allocation_removal ended{address, memory_kind::pinned};
  if (!ended) return CUDA_ERROR_INVALID_VALUE;
  ended.owner().wait_for_work();
  allocation& record = ended.commit();
  const std::size_t extent = record.extent;
  address_map::instance().remove(record);
  backing::deallocate(pointer, extent, nullptr);
  return CUDA_SUCCESS;
}

CUresult register_host(context& in, void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned known =
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || bytes == 0 || (flags & ~known) != 0 || address + bytes < address) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_mapped(address, bytes) || address_space::is_reserved(address))
    return CUDA_ERROR_INVALID_VALUE;
  memory_kind conflict{};
  allocation* record = address_map::instance().add_registration(address, bytes, conflict);
  if (record == nullptr) {
    return conflict == memory_kind::registered ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                               : CUDA_ERROR_INVALID_VALUE;
  }
  record->kind = memory_kind::registered;
  record->on_host = true;
  record->owner = &in;
  record->on = &in.owner();
  if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0) {
    record->access.store(CU_MEM_ACCESS_FLAGS_PROT_READ, std::memory_order_relaxed);
  }
  record->flags = (flags & CU_MEMHOSTREGISTER_PORTABLE) | CU_MEMHOSTREGISTER_DEVICEMAP;
  record->open(bytes);
  return CUDA_SUCCESS;
}

CUresult unregister_host(void* pointer) {
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address_map::find(address) == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  allocation_removal ended{address, memory_kind::registered};
  if (!ended) return CUDA_ERROR_INVALID_VALUE;
  ended.owner().wait_for_work();
  address_map::instance().remove(ended.commit());
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model::memory
