// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_memory.cpp - imports descriptors, and maps parts of them as device
// memory.
#include "embedded/model/ipc/external_memory.hpp"

#include <cstdint>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "os/pages.hpp"

namespace weir::embedded::model::external {

using namespace abi;

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
  // Mappings consist of whole pages; a buffer may begin and end within a page.
  const os::page_span pages = os::pages_around(offset, bytes);
  os::shared_pages mapped = imported->segment.map(pages.offset, pages.bytes);
  if (!mapped) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uintptr_t start =
      reinterpret_cast<std::uintptr_t>(mapped.get()) + (offset - pages.offset);
  allocation& record = address_map::instance().add(start, bytes,
                                                   {.kind = memory_kind::imported,
                                                    .owner_context = &owner_context,
                                                    .memory_device = &owner_context.owner()});
  mapped.release();  // unmap() unmaps the pages
  *out = start;
  record.open(bytes);
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

void unmap(allocation& record, const context* awaited) noexcept {
  const std::uintptr_t start = record.start();
  const os::page_span pages = os::pages_around(start, record.extent);
  address_map::instance().remove(record);
  freed_memory::release_pages(reinterpret_cast<void*>(pages.offset), pages.bytes, awaited);
}

}  // namespace weir::embedded::model::external
