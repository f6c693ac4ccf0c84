// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/pointer.cpp - cuPointer*: the attributes of an address.
#include <cstring>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/address_space.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::entry {

namespace {

using model::allocation;
using model::memory_kind;

// Writes an attribute in the driver's size. A bool is as large as an unsigned.
template <class Value>
CUresult write(void* destination, const Value& value) {
  std::memcpy(destination, &value, sizeof value);
  return CUDA_SUCCESS;
}
CUresult write(void* destination, bool truth) {
  return write<unsigned>(destination, truth ? 1 : 0);
}

// Writes the P2P tokens for GPUDirect RDMA. As on a GPU, the query sets
// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS for the allocation, because another device may be about to
// access the memory.
CUresult write_p2p_tokens(allocation& record, void* destination) {
  if (record.on_host) return CUDA_ERROR_INVALID_VALUE;
  record.sync_memops.store(true, std::memory_order_relaxed);
  struct {
    unsigned long long memory;
    unsigned space;
  } const tokens{record.id, static_cast<unsigned>(record.memory_device->ordinal()) + 1};
  std::memcpy(destination, &tokens, sizeof tokens.memory + sizeof tokens.space);
  return CUDA_SUCCESS;
}

// Returns the access that streams have to the memory. For mapped memory with several devices,
// returns the access of the current context's device.
CUmemAccess_flags access_to(const allocation& record, CUdeviceptr pointer) {
  const model::context* const current = model::this_thread().current();
  CUmemAccess_flags access = record.access.load(std::memory_order_relaxed);
  if (record.kind == memory_kind::mapped && current != nullptr &&
      model::this_process().has_several_devices()) {
    model::address_space::get_access(
        pointer, {CU_MEM_LOCATION_TYPE_DEVICE, current->owner().ordinal()}, access);
  }
  return access;
}

// Returns the handle types with which the memory can be shared. Memory of a pool is shared through
// its pool.
CUmemAllocationHandleType handle_types(const allocation& record) {
  return record.pool != nullptr ? record.pool->sharing.handle_types() : record.handle_types;
}

struct extent {
  std::uintptr_t start;
  std::size_t bytes;
};

// Returns the whole range that contains the memory: the reserved range for mapped memory, else the
// allocation.
extent range_of(const allocation& memory) {
  if (memory.kind == memory_kind::mapped) return {memory.range_start, memory.range_bytes};
  return {memory.start(), memory.bytes.load(std::memory_order_relaxed)};
}

// Returns the range that an H200 maps for an allocation: device memory in units of 2 MiB, memory of
// pools and graphs in units of 32 MiB, and registered host memory in pages. For any other memory,
// returns the allocation itself.
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

// Returns the context that the memory belongs to. Returns null for memory that no context owns,
// such as memory of pools, and for managed variables.
CUcontext context_of(const allocation& record) {
  return record.owner_context != nullptr && record.kind != memory_kind::managed_variable
             ? record.owner_context->handle()
             : nullptr;
}

// Writes CU_POINTER_ATTRIBUTE_DEVICE_POINTER. Returns CUDA_ERROR_INVALID_VALUE if the device of the
// current context cannot access the memory.
CUresult write_device_pointer(const allocation& record, CUdeviceptr pointer, void* destination) {
  model::context* context = nullptr;
  if (const CUresult error = current_context(context)) return error;
  return is_accessible(*context, record, pointer) ? write(destination, pointer)
                                                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult write_attribute(const allocation& record, CUdeviceptr pointer,
                         CUpointer_attribute attribute, void* destination) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return write(destination, context_of(record));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write<unsigned>(destination,
                             record.on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return write_device_pointer(record, pointer, destination);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return record.on_host || model::is_managed(record) ? write(destination, pointer)
                                                         : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return write(destination, record.sync_memops.load(std::memory_order_relaxed));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return write(destination, record.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return write(destination, model::is_managed(record));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(destination, record.memory_device->ordinal());
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return write(destination, CUdeviceptr{range_of(record).start});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return write(destination, range_of(record).bytes);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return write(destination, CUdeviceptr{mapping_of(record).start});
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return write(destination, mapping_of(record).bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return write(destination, true);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write<unsigned long long>(destination, handle_types(record));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return write(destination, record.kind == memory_kind::device);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      // For a pool, reports the access of the pool's own device.
      return write(destination, record.pool != nullptr ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                       : access_to(record, pointer));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return write(destination,
                   record.pool != nullptr ? record.pool->handle() : CUmemoryPool{nullptr});
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Writes the value that cuPointerGetAttributes reports for an attribute that the address does not
// have, mostly 0. Leaves the destinations of the two RANGE attributes unchanged. Returns false only
// for CU_POINTER_ATTRIBUTE_P2P_TOKENS, which only cuPointerGetAttribute can query. `record` is null
// for unknown memory.
bool write_default(CUdeviceptr pointer, const allocation* record, CUpointer_attribute attribute,
                   void* destination) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: write(destination, 0u); return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: write(destination, CU_DEVICE_INVALID); return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      write(destination, record != nullptr ? CUdeviceptr{0} : pointer);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return true;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return false;
    default: write(destination, 0ull); return true;
  }
}

bool is_known(CUpointer_attribute attribute) {
  return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
         attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return guarded_outside_host_functions([&] {
    allocation* found = model::address_map::find(pointer);
    if (data == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) return write_p2p_tokens(*found, data);
    return write_attribute(*found, pointer, attribute, data);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
  return guarded_outside_host_functions([&] {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const allocation* found = model::address_map::find(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (data[i] == nullptr || !is_known(attributes[i])) return CUDA_ERROR_INVALID_VALUE;
      if (found != nullptr &&
          write_attribute(*found, pointer, attributes[i], data[i]) == CUDA_SUCCESS)
        continue;
      if (!write_default(pointer, found, attributes[i], data[i])) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  if (value == nullptr) return reject_argument();
  return guarded_outside_captures([&] {
    allocation* found = model::address_map::find(pointer);
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || found == nullptr) {
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
