// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_space.cpp - reserves inaccessible ranges, and maps memory over
// them.
#include "embedded/model/memory/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/address_ranges.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "embedded/model/memory/physical_memory.hpp"
#include "os/pages.hpp"

namespace weir::embedded::model::address_space {

using namespace abi;

namespace {

using physical::granularity;

bool is_aligned(std::uintptr_t value) { return value % granularity == 0; }

// Allocates a node for a map in advance, so that a later insertion cannot throw.
template <class Map>
typename Map::node_type make_node(std::uintptr_t key, typename Map::mapped_type value) {
  Map map;
  map.emplace(key, std::move(value));
  return map.extract(map.begin());
}

// Reserves addresses at `start_address`, without access to them. `fixed_flag`: MAP_FIXED to replace
// what is mapped there, or MAP_FIXED_NOREPLACE to return null if the addresses are in use.
void* reserve_at(void* start_address, std::size_t bytes, int fixed_flag) noexcept {
  void* const mapped_address =
      mmap(start_address, bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed_flag, -1, 0);
  return mapped_address == MAP_FAILED ? nullptr : mapped_address;
}

// Adds a mapping to the address map, without access for streams.
void add_record(const range& containing_range, std::uintptr_t range_start, mapping& target_mapping,
                std::uintptr_t start) {
  const CUmemLocation& location = target_mapping.memory->properties.location;
  const bool on_host = location.type != CU_MEM_LOCATION_TYPE_DEVICE;
  allocation& record = address_map::instance().add(
      start, target_mapping.bytes,
      {.kind = memory_kind::mapped,
       .on_host = on_host,
       .handle_types = target_mapping.memory->properties.requestedHandleTypes,
       // The attributes of host memory name device 0.
       .memory_device = this_process().find_device(on_host ? 0 : location.id),
       .range_start = range_start,
       .range_bytes = containing_range.bytes});
  record.access.store(CU_MEM_ACCESS_FLAGS_PROT_NONE, std::memory_order_relaxed);
  target_mapping.record = &record;
  record.open(target_mapping.bytes);
}

void remove_record(mapping& target_mapping) noexcept {
  allocation& record = *target_mapping.record;
  if (record.close() != 0) address_map::instance().remove(record);
}

// Maps the allocation of the node at start_address, and moves the node into the range that contains
// the address. Returns an error without moving the node.
CUresult map_whole(ranges_by_start& ranges, std::uintptr_t start_address, std::size_t bytes,
                   std::size_t offset, decltype(range::mapped)::node_type& node) {
  const physical_memory& memory = *node.mapped().memory;
  if (offset != 0 || bytes != memory.pages.bytes()) return CUDA_ERROR_NOT_SUPPORTED;
  const auto containing_range = find_containing(ranges, start_address);
  if (!is_aligned(start_address) || containing_range == ranges.end() ||
      bytes > containing_range->second.bytes - (start_address - containing_range->first)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const mappings covered = mappings_in(containing_range->second, start_address, bytes);
  if (covered.first != covered.last || !covered.whole) return CUDA_ERROR_INVALID_VALUE;
  add_record(containing_range->second, containing_range->first, node.mapped(),
             start_address);  // the last call that may throw
  auto* const mapped_address = reinterpret_cast<void*>(start_address);
  if (!memory.pages.map_at(mapped_address)) {
    remove_record(node.mapped());
    reserve_at(mapped_address, bytes, MAP_FIXED);  // keeps the addresses reserved
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  containing_range->second.mapped.insert(std::move(node));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                 std::uintptr_t& out) {
  if (bytes == 0 || !is_aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  alignment = std::max(alignment, granularity);
  if (hint % alignment != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{reserved().mutex};
  auto node = make_node<ranges_by_start>(0, {bytes, {}});
  void* start = nullptr;
  if (hint != 0) start = reserve_at(reinterpret_cast<void*>(hint), bytes, MAP_FIXED_NOREPLACE);
  if (start == nullptr) start = os::map_aligned(bytes, alignment, PROT_NONE);
  if (start == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  out = node.key() = reinterpret_cast<std::uintptr_t>(start);
  reserved().ranges.insert(std::move(node));
  return CUDA_SUCCESS;
}

CUresult free(std::uintptr_t start, std::size_t bytes) {
  {
    const std::lock_guard lock{reserved().mutex};
    const auto found = reserved().ranges.find(start);
    if (found == reserved().ranges.end() || found->second.bytes != bytes ||
        !found->second.mapped.empty()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    reserved().ranges.erase(found);
  }
  freed_memory::release_pages(reinterpret_cast<void*>(start), bytes);
  return CUDA_SUCCESS;
}

bool is_reserved(std::uintptr_t address) {
  const std::shared_lock lock{reserved().mutex};
  return find_containing(reserved().ranges, address) != reserved().ranges.end();
}

CUresult map(std::uintptr_t start_address, std::size_t bytes, std::size_t offset,
             CUmemGenericAllocationHandle memory) {
  if (start_address == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{reserved().mutex};
  auto node = make_node<decltype(range::mapped)>(start_address, {.bytes = bytes});
  physical_memory* const used = physical::acquire_mapping(memory);
  if (used == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node.mapped().memory = used;
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    status = map_whole(reserved().ranges, start_address, bytes, offset, node);
  } catch (const std::bad_alloc&) {
    // No memory for the records; nothing is mapped.
  }
  if (status != CUDA_SUCCESS) physical::release_mapping(*used);
  return status;
}

CUresult unmap(std::uintptr_t start_address, std::size_t bytes) {
  if (!is_valid_range(start_address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{reserved().mutex};
  const auto containing_range = find_containing(reserved().ranges, start_address);
  if (containing_range == reserved().ranges.end()) return CUDA_ERROR_INVALID_VALUE;
  auto& mapped = containing_range->second.mapped;
  const mappings covered = mappings_in(containing_range->second, start_address, bytes);
  if (!covered.whole) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [start, unmapped] : covered) {
    remove_record(unmapped);
    // Work that still uses the addresses makes the device fail (freed_memory.hpp).
    reserve_at(reinterpret_cast<void*>(start), unmapped.bytes, MAP_FIXED);
    physical::release_mapping(*unmapped.memory);
  }
  mapped.erase(covered.first, covered.last);
  return CUDA_SUCCESS;
}

CUresult retain(std::uintptr_t start_address, CUmemGenericAllocationHandle* out) {
  const std::shared_lock lock{reserved().mutex};
  const mapping* const found = mapping_at(reserved().ranges, start_address);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = physical::retain(*found->memory);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model::address_space
