// entry/pointer.cpp - cuPointer*: what the driver knows of an address.
#include <cstring>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/address_space.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::entry {

namespace {

using model::allocation;
using model::memory_kind;

// Writes an attribute, in the size in which the driver writes it; truths are as large as numbers.
template <class Value>
CUresult write(void* to, const Value& value) {
  std::memcpy(to, &value, sizeof value);
  return CUDA_SUCCESS;
}
CUresult write(void* to, bool truth) { return write<unsigned>(to, truth ? 1 : 0); }

// Two numbers by which others would reach the memory. Whoever asks may be about to: from then on
// operations on it wait.
CUresult write_p2p_tokens(allocation& of, void* to) {
  if (of.on_host) return CUDA_ERROR_INVALID_VALUE;
  of.sync_memops.store(true, std::memory_order_relaxed);
  struct {
    unsigned long long memory;
    unsigned space;
  } const tokens{of.id, static_cast<unsigned>(of.on->ordinal()) + 1};
  std::memcpy(to, &tokens, sizeof tokens.memory + sizeof tokens.space);
  return CUDA_SUCCESS;
}

// What streams may do with it: those of the current context's device, where there are several.
CUmemAccess_flags access_to(const allocation& of, CUdeviceptr pointer) {
  const model::context* const current = model::this_thread().current();
  CUmemAccess_flags access = of.access.load(std::memory_order_relaxed);
  if (of.kind == memory_kind::mapped && current != nullptr &&
      model::this_process().has_several_devices()) {
    model::address_space::get_access(
        pointer, {CU_MEM_LOCATION_TYPE_DEVICE, current->owner().ordinal()}, access);
  }
  return access;
}

// How the memory may be handed on to another process; a pool's is handed on with its pool.
CUmemAllocationHandleType handle_types(const allocation& of) {
  return of.pool != nullptr ? of.pool->sharing.handle_types() : of.handle_types;
}

struct extent {
  std::uintptr_t start;
  std::size_t bytes;
};

// The addresses that were allocated, or reserved, in one piece.
extent range_of(const allocation& memory) {
  if (memory.kind == memory_kind::mapped) return {memory.range_start, memory.range_bytes};
  return {memory.start(), memory.bytes.load(std::memory_order_relaxed)};
}

// What an H200 maps for an allocation: device memory comes in large pieces, the program's own
// memory in pages.
extent mapping_of(const allocation& memory) {
  const std::size_t bytes = memory.bytes.load(std::memory_order_relaxed);
  const auto rounded = [&](std::size_t unit) { return (bytes + unit - 1) / unit * unit; };
  switch (memory.kind) {
    case memory_kind::device:
    case memory_kind::managed:
    case memory_kind::variable:
    case memory_kind::managed_variable: return {memory.start(), rounded(std::size_t{2} << 20)};
    case memory_kind::pooled:
    case memory_kind::graph: return {memory.start(), rounded(std::size_t{32} << 20)};
    case memory_kind::registered: {
      constexpr std::size_t page = 4096;
      const std::uintptr_t first = memory.start() / page * page;
      return {first, (memory.start() + bytes - first + page - 1) / page * page};
    }
    case memory_kind::pinned:
    case memory_kind::array:
    case memory_kind::mapped:
    case memory_kind::imported:
    case memory_kind::opened: break;
  }
  return {memory.start(), bytes};
}

CUresult write_attribute(const allocation& of, CUdeviceptr pointer, CUpointer_attribute attribute,
                         void* to) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      const bool has_one = of.owner != nullptr && of.kind != memory_kind::managed_variable;
      return write(to, has_one ? of.owner->handle() : CUcontext{nullptr});
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write<unsigned>(to, of.on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: {
      // The address that the device uses is that of the current context.
      model::context* context = nullptr;
      if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
      return is_accessible(model::this_process(), *context, of, pointer) ? write(to, pointer)
                                                                         : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return of.on_host || model::is_managed(of) ? write(to, pointer) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return write(to, of.sync_memops.load(std::memory_order_relaxed));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return write(to, of.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return write(to, model::is_managed(of));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return write(to, of.on->ordinal());
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return write(to, of.kind == memory_kind::device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return write(to, CUdeviceptr{range_of(of).start});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return write(to, range_of(of).bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return write(to, CUdeviceptr{mapping_of(of).start});
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return write(to, mapping_of(of).bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return write(to, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write<unsigned long long>(to, handle_types(of));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return write(to, of.kind == memory_kind::device);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      // A pool's memory is told as its own place may use it.
      return write(
          to, of.pool != nullptr ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : access_to(of, pointer));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return write(to, of.pool != nullptr ? model::pool_registry::handle_of(*of.pool)
                                          : CUmemoryPool{nullptr});
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// What the multiple query says of an attribute that an address has not. False where there is no
// such attribute.
bool write_default(CUdeviceptr pointer, bool known, CUpointer_attribute attribute, void* to) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: write(to, false); return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: write(to, 0u); return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: write(to, CU_DEVICE_INVALID); return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      write(to, known ? CUdeviceptr{0} : pointer);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return true;  // not written
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return false;
    default: write(to, 0ull); return true;
  }
}

bool is_known(CUpointer_attribute attribute) {
  return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
         attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    allocation* found = model::address_map::find(pointer);
    if (data == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) return write_p2p_tokens(*found, data);
    return write_attribute(*found, pointer, attribute, data);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const allocation* found = model::address_map::find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (data[i] == nullptr || !is_known(attributes[i])) return CUDA_ERROR_INVALID_VALUE;
      if (found != nullptr &&
          write_attribute(*found, pointer, attributes[i], data[i]) == CUDA_SUCCESS)
        continue;
      if (!write_default(pointer, found != nullptr, attributes[i], data[i]))
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  return guarded_outside_captures([&](model::process&) -> CUresult {
    allocation* found = model::address_map::find(pointer);
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || found == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (found->kind == memory_kind::mapped) return CUDA_ERROR_NOT_SUPPORTED;
    unsigned on = 0;
    std::memcpy(&on, value, sizeof on);
    found->sync_memops.store(on != 0, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
