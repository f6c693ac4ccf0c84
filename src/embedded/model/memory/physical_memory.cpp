// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/physical_memory.cpp - creates, exports, imports and releases physical
// memory.
#include "embedded/model/memory/physical_memory.hpp"

#include <cstdint>
#include <cstring>
#include <mutex>

#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "os/pages.hpp"

namespace weir::embedded::model::physical {

using namespace abi;

namespace {

std::mutex counts_mutex;  // guards `handles` and `mappings` of all physical memory

// Describes the memory to processes that import it. A device is named by its number. The label is
// in a page at the end of each exportable segment, after the memory itself.
struct label {
  char magic[16];
  std::uint64_t bytes;
  CUmemAllocationProp properties;
};
constexpr char magic[16] = "weir allocation";
constexpr std::size_t label_page = os::page_bytes;
static_assert(sizeof(label) <= label_page);

physical_memory* find(CUmemGenericAllocationHandle handle) noexcept {
  return this_process().physical_memories.find(reinterpret_cast<const void*>(handle));
}

CUmemGenericAllocationHandle publish(physical_memory& created) noexcept {
  return reinterpret_cast<CUmemGenericAllocationHandle>(
      this_process().physical_memories.publish(&created));
}

bool write_label(const os::shared_memory& segment, std::size_t bytes,
                 const CUmemAllocationProp& properties) noexcept {
  const os::shared_pages page = segment.map(bytes, label_page);
  if (!page) return false;
  label written{.magic = {}, .bytes = bytes, .properties = properties};
  CUmemLocation& location = written.properties.location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    location.id = this_process().find_device(location.id)->number();
  std::memcpy(written.magic, magic, sizeof magic);
  std::memcpy(page.get(), &written, sizeof written);
  return true;
}

// Reads the label of an imported segment. Returns false if the segment does not hold an exported
// allocation.
bool read_label(const os::shared_memory& segment, label& out) noexcept {
  const std::size_t whole = segment.bytes();
  if (!segment.is_sealed() || whole <= label_page || (whole - label_page) % granularity != 0)
    return false;
  const os::shared_pages page = segment.map(whole - label_page, label_page);
  if (!page) return false;
  std::memcpy(&out, page.get(), sizeof out);
  CUmemLocation& location = out.properties.location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    const device* const found = this_process().find_device_by_number(location.id);
    location.id = found != nullptr ? found->ordinal() : -1;
  }
  return std::memcmp(out.magic, magic, sizeof magic) == 0 && out.bytes == whole - label_page;
}

// Frees the memory if no handle and no mapping is left. The caller holds counts_mutex.
void end_if_unused(physical_memory& memory) noexcept {
  if (memory.handles != 0 || memory.mappings != 0) return;
  if (memory.memory_device != nullptr) memory.memory_device->release_memory(memory.pages.bytes());
  memory.pages = {};
  memory.segment = {};
  this_process().physical_memories.recycle(&memory);
}

bool may_be_exported(const CUmemAllocationProp& properties) noexcept {
  return (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
}

// Creates a physical_memory with one reference to its handle, from pages and the segment that holds
// them.
CUmemGenericAllocationHandle adopt(os::shared_pages pages, os::shared_memory segment,
                                   const CUmemAllocationProp& properties, device* target_device) {
  physical_memory& created = *this_process().physical_memories.acquire();
  created.pages = std::move(pages);
  created.segment = std::move(segment);
  created.properties = properties;
  created.memory_device = target_device;
  created.handles = 1;
  created.mappings = 0;
  return publish(created);
}

// Returns an error unless the location is a device of the process, the host, or NUMA node 0, the
// host's only node.
CUresult check_location(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    return this_process().find_device(location.id) != nullptr ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_DEVICE;
  const bool is_host = location.type == CU_MEM_LOCATION_TYPE_HOST ||
                       (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id == 0);
  return is_host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Returns an error if cuMemCreate cannot make memory with these properties.
CUresult check_properties(const CUmemAllocationProp& requested) {
  constexpr unsigned windows_types = CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT;
  const CUresult location_status = check_location(requested.location);
  if (location_status == CUDA_ERROR_INVALID_DEVICE) return location_status;
  if (requested.type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      (requested.requestedHandleTypes & windows_types) != 0 ||
      requested.win32HandleMetaData != nullptr ||
      requested.allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return location_status;
}

// Returns the properties as queries report them. Memory of the host is on its only NUMA node.
CUmemAllocationProp reported(CUmemAllocationProp properties) noexcept {
  if (properties.location.type == CU_MEM_LOCATION_TYPE_HOST)
    properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  return properties;
}

}  // namespace

CUresult create(std::size_t bytes, const CUmemAllocationProp& requested,
                CUmemGenericAllocationHandle* out) {
  if (bytes == 0 || bytes % granularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_properties(requested)) return error;
  const bool on_device = requested.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  device* const target_device =
      on_device ? this_process().find_device(requested.location.id) : nullptr;
  if (target_device != nullptr && !pool_registry::reserve_memory(*target_device, bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  os::shared_memory segment;
  os::shared_pages pages;
  if (!may_be_exported(requested)) {
    pages = os::shared_pages::create(bytes);
  } else {
    segment = os::shared_memory::create(bytes + label_page, "weir-allocation");
    if (segment && write_label(segment, bytes, requested)) pages = segment.map(0, bytes);
  }
  if (!pages) {
    if (target_device != nullptr) target_device->release_memory(bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  try {
    *out = adopt(std::move(pages), std::move(segment), reported(requested), target_device);
  } catch (...) {
    if (target_device != nullptr) target_device->release_memory(bytes);
    throw;
  }
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock{counts_mutex};
  physical_memory* const found = find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (--found->handles == 0) {
    this_process().physical_memories.retire(found, reinterpret_cast<const void*>(handle));
    end_if_unused(*found);
  }
  return CUDA_SUCCESS;
}

CUresult get_properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp& out) {
  const std::lock_guard lock{counts_mutex};
  const physical_memory* const found = find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = found->properties;
  return CUDA_SUCCESS;
}

CUresult export_descriptor(CUmemGenericAllocationHandle handle, int* out) {
  const std::lock_guard lock{counts_mutex};
  const physical_memory* const found = find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!may_be_exported(found->properties)) return CUDA_ERROR_INVALID_VALUE;
  os::shared_memory duplicate = os::shared_memory::duplicate_of(found->segment.fd());
  if (!duplicate) return CUDA_ERROR_OPERATING_SYSTEM;
  *out = duplicate.release();
  return CUDA_SUCCESS;
}

CUresult import_descriptor(int descriptor, CUmemGenericAllocationHandle* out) {
  os::shared_memory segment = os::shared_memory::duplicate_of(descriptor);
  label stored_label{};
  if (!segment || !read_label(segment, stored_label)) return CUDA_ERROR_UNKNOWN;
  // The label may name a device that this process does not have, or be invalid.
  if (const CUresult error = check_properties(stored_label.properties)) return error;
  // Imported memory cannot be exported.
  stored_label.properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  os::shared_pages pages = segment.map(0, stored_label.bytes);
  if (!pages) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = adopt(std::move(pages), {}, stored_label.properties, nullptr);
  return CUDA_SUCCESS;
}

physical_memory* acquire_mapping(CUmemGenericAllocationHandle handle) noexcept {
  const std::lock_guard lock{counts_mutex};
  physical_memory* const found = find(handle);
  if (found != nullptr) ++found->mappings;
  return found;
}

void release_mapping(physical_memory& mapped) noexcept {
  const std::lock_guard lock{counts_mutex};
  --mapped.mappings;
  end_if_unused(mapped);
}

CUmemGenericAllocationHandle retain(physical_memory& mapped) noexcept {
  const std::lock_guard lock{counts_mutex};
  if (mapped.handles++ == 0) return publish(mapped);
  return reinterpret_cast<CUmemGenericAllocationHandle>(
      this_process().physical_memories.handle_of(&mapped));
}

}  // namespace weir::embedded::model::physical
