// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_memory.cpp - imports descriptors, and maps parts of them as device
// memory.
#include "embedded/model/ipc/external_memory.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model::external {

using namespace abi;

namespace {

// Mappings consist of whole pages; a buffer may begin and end within a page.
constexpr std::size_t page = 4096;

struct pages {
  std::size_t offset, bytes;
};

pages pages_around(std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t first = offset / page * page;
  return {first, (offset + bytes - first + page - 1) / page * page};
}

}  // namespace

CUresult import(int descriptor, std::size_t bytes, CUexternalMemory* out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  os::shared_memory segment = os::shared_memory::duplicate_of(descriptor);
  if (!segment || segment.bytes() == 0) return CUDA_ERROR_UNKNOWN;
  // Without the seal another process could shrink the memory while work uses it. An access would
  // then end this process.
  if (!segment.seal()) return CUDA_ERROR_NOT_SUPPORTED;
  auto& table = this_process().external_memories;
  external_memory& created = *table.acquire();
  created.segment = std::move(segment);
  created.bytes = bytes;
  *out = static_cast<CUexternalMemory>(table.publish(&created));
  // Closes the caller's descriptor. `segment` has a duplicate.
  (void)os::shared_memory::adopt(descriptor);
  return CUDA_SUCCESS;
}

CUresult map(context& owner_context, CUexternalMemory memory, std::size_t offset, std::size_t bytes,
             CUdeviceptr* out) {
  const external_memory* const imported = this_process().external_memories.find(memory);
  if (imported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0 || offset > imported->bytes || bytes > imported->bytes - offset)
    return CUDA_ERROR_INVALID_VALUE;
  const std::size_t whole = imported->segment.bytes();
  if (offset > whole || bytes > whole - offset) return CUDA_ERROR_INVALID_VALUE;
  const pages page_span = pages_around(offset, bytes);
  void* const mapped_address = imported->segment.map(page_span.offset, page_span.bytes);
  if (mapped_address == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uintptr_t start =
      reinterpret_cast<std::uintptr_t>(mapped_address) + (offset - page_span.offset);
  allocation* record = nullptr;
  try {
    record = &address_map::instance().add(start, bytes);
  } catch (...) {
    munmap(mapped_address, page_span.bytes);
    throw;
  }
  record->kind = memory_kind::imported;
  record->owner_context = &owner_context;
  record->memory_device = &owner_context.owner();
  *out = start;
  record->open(bytes);
  return CUDA_SUCCESS;
}

CUresult destroy(CUexternalMemory memory) {
  auto& table = this_process().external_memories;
  external_memory* const found = table.find(memory);
  if (found == nullptr || !table.retire(found, memory)) return CUDA_ERROR_INVALID_VALUE;
  found->segment = {};
  table.recycle(found);
  return CUDA_SUCCESS;
}

void unmap(allocation& record) noexcept {
  const std::uintptr_t start = record.start();
  const pages page_span = pages_around(start, record.extent);
  address_map::instance().remove(record);
  munmap(reinterpret_cast<void*>(page_span.offset), page_span.bytes);
}

}  // namespace weir::embedded::model::external
