// model/physical_memory.cpp - the life of allocations without addresses, here and in other
// processes.
#include "embedded/model/memory/physical_memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <mutex>

#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model::physical {

using namespace abi;

namespace {

std::mutex counts_mutex;

// Behind the memory itself each segment says what it is, for whoever imports its descriptor.
struct label {
  char magic[16];
  std::uint64_t bytes;
  CUmemAllocationProp properties;
};
constexpr char magic[16] = "weir allocation";
constexpr std::size_t label_page = 4096;
static_assert(sizeof(label) <= label_page);

physical_memory* find(CUmemGenericAllocationHandle handle) noexcept {
  return this_process().physical_memories.find(reinterpret_cast<const void*>(handle));
}

CUmemGenericAllocationHandle publish(physical_memory& made) noexcept {
  return reinterpret_cast<CUmemGenericAllocationHandle>(
      this_process().physical_memories.publish(&made));
}

bool write_label(const shared_memory& segment, std::size_t bytes,
                 const CUmemAllocationProp& properties) noexcept {
  void* const page = segment.map(bytes, label_page);
  if (page == nullptr) return false;
  label written{.magic = {}, .bytes = bytes, .properties = properties};
  std::memcpy(written.magic, magic, sizeof magic);
  std::memcpy(page, &written, sizeof written);
  munmap(page, label_page);
  return true;
}

// False for a segment that is no allocation's.
bool read_label(const shared_memory& segment, label& out) noexcept {
  const std::size_t whole = segment.bytes();
  if (!segment.is_sealed() || whole <= label_page || (whole - label_page) % granularity != 0)
    return false;
  void* const page = segment.map(whole - label_page, label_page);
  if (page == nullptr) return false;
  std::memcpy(&out, page, sizeof out);
  munmap(page, label_page);
  return std::memcmp(out.magic, magic, sizeof magic) == 0 && out.bytes == whole - label_page;
}

// Gives the memory back once nobody has it any more. With the lock held.
void end_if_unused(physical_memory& memory) noexcept {
  if (memory.handles != 0 || memory.mappings != 0) return;
  if (memory.on != nullptr) memory.on->release_memory(memory.bytes);
  memory.pages = {};
  memory.segment = {};
  this_process().physical_memories.recycle(&memory);
}

bool reserve_memory(device& from, std::size_t bytes) noexcept {
  if (from.reserve_memory(bytes)) return true;
  pool_registry::release_all_idle(from, nullptr);
  return from.reserve_memory(bytes);
}

bool may_be_exported(const CUmemAllocationProp& properties) noexcept {
  return (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
}

// Makes an object of pages and their segment, with one handle.
CUmemGenericAllocationHandle adopt(shared_pages pages, shared_memory segment, std::size_t bytes,
                                   const CUmemAllocationProp& properties, device* on) {
  physical_memory& made = *this_process().physical_memories.acquire();
  made.pages = std::move(pages);
  made.segment = std::move(segment);
  made.bytes = bytes;
  made.properties = properties;
  made.on = on;
  made.handles = 1;
  made.mappings = 0;
  return publish(made);
}

// There is one node of the host.
CUresult check_place(const CUmemLocation& where) {
  switch (where.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return this_process().find_device(where.id) != nullptr ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return where.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    case CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// May there be memory of these properties?
CUresult check(const CUmemAllocationProp& wanted) {
  constexpr unsigned of_windows = CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT;
  if (wanted.type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      (wanted.requestedHandleTypes & of_windows) != 0 || wanted.win32HandleMetaData != nullptr ||
      wanted.allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return check_place(wanted.location);
}

}  // namespace

CUresult create(std::size_t bytes, const CUmemAllocationProp& wanted,
                CUmemGenericAllocationHandle* out) {
  if (bytes == 0 || bytes % granularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = check(wanted); status != CUDA_SUCCESS) return status;
  const bool on_device = wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  device* const on = on_device ? this_process().find_device(wanted.location.id) : nullptr;
  if (on != nullptr && !reserve_memory(*on, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  shared_memory segment;
  shared_pages pages;
  if (!may_be_exported(wanted)) {
    pages = shared_pages::create(bytes);
  } else {
    segment = shared_memory::create(bytes + label_page, "weir-allocation");
    if (segment && write_label(segment, bytes, wanted)) pages = shared_pages::of(segment, bytes);
  }
  if (!pages) {
    if (on != nullptr) on->release_memory(bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  try {
    *out = adopt(std::move(pages), std::move(segment), bytes, wanted, on);
  } catch (...) {
    if (on != nullptr) on->release_memory(bytes);
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
  shared_memory duplicate = shared_memory::duplicate_of(found->segment.fd());
  if (!duplicate) return CUDA_ERROR_OPERATING_SYSTEM;
  *out = duplicate.release();
  return CUDA_SUCCESS;
}

CUresult import_descriptor(int descriptor, CUmemGenericAllocationHandle* out) {
  shared_memory segment = shared_memory::duplicate_of(descriptor);
  label said{};
  if (!segment || !read_label(segment, said)) return CUDA_ERROR_UNKNOWN;
  // Of a device that this process does not have, or another program's writing.
  if (const CUresult status = check(said.properties); status != CUDA_SUCCESS) return status;
  said.properties.requestedHandleTypes =
      CU_MEM_HANDLE_TYPE_NONE;  // what was imported is not handed on
  shared_pages pages = shared_pages::of(segment, said.bytes);
  if (!pages) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = adopt(std::move(pages), {}, said.bytes, said.properties, nullptr);
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
