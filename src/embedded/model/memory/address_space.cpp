// model/address_space.cpp - reserved ranges are mappings without access; memory is mapped over
// them.
#include "embedded/model/memory/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/address_ranges.hpp"
#include "embedded/model/memory/deferred_unmap.hpp"
#include "embedded/model/memory/physical_memory.hpp"

namespace weir::embedded::model::address_space {

using namespace abi;

namespace {

using physical::granularity;

bool is_aligned(std::uintptr_t value) { return value % granularity == 0; }

// A node for a map, made before anything that would have to be undone.
template <class Map>
typename Map::node_type make_node(std::uintptr_t key, typename Map::mapped_type value) {
  Map one;
  one.emplace(key, std::move(value));
  return one.extract(one.begin());
}

// Takes addresses from the system that nobody may touch. Null where there are none.
void* reserve_pages(std::size_t bytes, void* at, int flags) noexcept {
  void* const got =
      mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return got == MAP_FAILED ? nullptr : got;
}

// What was enqueued while something was mapped here and runs only now goes into memory that is
// nobody's.
void unmap_pages(std::uintptr_t at, std::size_t bytes) noexcept {
  mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

std::uintptr_t reserve_at_hint(std::size_t bytes, std::uintptr_t hint) noexcept {
  void* const got = reserve_pages(bytes, reinterpret_cast<void*>(hint), MAP_FIXED_NOREPLACE);
  return reinterpret_cast<std::uintptr_t>(got);
}

std::uintptr_t reserve_aligned(std::size_t bytes, std::size_t alignment) noexcept {
  std::size_t whole = 0;
  if (__builtin_add_overflow(bytes, alignment, &whole)) return 0;
  const auto got = reinterpret_cast<std::uintptr_t>(reserve_pages(whole, nullptr, 0));
  if (got == 0) return 0;
  const std::uintptr_t start = (got + alignment - 1) / alignment * alignment;
  if (start != got) munmap(reinterpret_cast<void*>(got), start - got);
  if (const std::size_t rest = got + alignment - start; rest != 0) {
    munmap(reinterpret_cast<void*>(start + bytes), rest);
  }
  return start;
}

// Puts a mapping into the address map. No stream may touch it yet.
void add_record(const range& around, std::uintptr_t around_start, mapping& in,
                std::uintptr_t start) {
  process& p = this_process();
  const CUmemLocation& where = in.memory->properties.location;
  const bool on_host = where.type != CU_MEM_LOCATION_TYPE_DEVICE;
  in.record = &address_map::instance().add(start, in.bytes);
  in.record->kind = memory_kind::mapped;
  in.record->on_host = on_host;
  in.record->on = p.find_device(on_host ? 0 : where.id);
  in.record->handle_types = in.memory->properties.requestedHandleTypes;
  in.record->range_start = around_start;
  in.record->range_bytes = around.bytes;
  in.record->access.store(CU_MEM_ACCESS_FLAGS_PROT_NONE, std::memory_order_relaxed);
  in.record->open(in.bytes);
}

void remove_record(mapping& in) noexcept {
  (void)in.record->close();
  address_map::instance().remove(*in.record);
}

// Maps an allocation where a node says, which then goes into its range.
CUresult map_whole(ranges_by_start& ranges, std::uintptr_t at, std::size_t bytes,
                   std::size_t offset, decltype(range::mapped)::node_type& node) {
  const physical_memory& memory = *node.mapped().memory;
  if (offset != 0 || bytes != memory.bytes) return CUDA_ERROR_NOT_SUPPORTED;
  const auto around = find_containing(ranges, at);
  if (!is_aligned(at) || around == ranges.end() ||
      bytes > around->second.bytes - (at - around->first)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const mappings there = mappings_in(around->second, at, bytes);
  if (there.first != there.last || !there.whole) return CUDA_ERROR_INVALID_VALUE;
  add_record(around->second, around->first, node.mapped(), at);  // the last that may throw
  auto* const there_now = reinterpret_cast<void*>(at);
  if (!memory.pages.map_at(there_now)) {
    remove_record(node.mapped());
    reserve_pages(bytes, there_now, MAP_FIXED);  // the addresses stay taken
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  around->second.mapped.insert(std::move(node));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t hint,
                 std::uintptr_t& out) {
  if (bytes == 0 || !is_aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  alignment = std::max(alignment, granularity);
  if (hint % alignment != 0) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  auto node = make_node<ranges_by_start>(0, {bytes, {}});
  std::uintptr_t start = hint != 0 ? reserve_at_hint(bytes, hint) : 0;
  if (start == 0) start = reserve_aligned(bytes, alignment);
  if (start == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  node.key() = start;
  everything.ranges.insert(std::move(node));
  out = start;
  return CUDA_SUCCESS;
}

CUresult free(std::uintptr_t start, std::size_t bytes) {
  reservations& everything = all();
  {
    const std::lock_guard lock{everything.mutex};
    const auto found = everything.ranges.find(start);
    if (found == everything.ranges.end() || found->second.bytes != bytes ||
        !found->second.mapped.empty()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    everything.ranges.erase(found);
  }
  unmap_when_idle(reinterpret_cast<void*>(start), bytes);
  return CUDA_SUCCESS;
}

bool is_reserved(std::uintptr_t address) {
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  return find_containing(everything.ranges, address) != everything.ranges.end();
}

CUresult map(std::uintptr_t at, std::size_t bytes, std::size_t offset,
             CUmemGenericAllocationHandle memory) {
  if (at == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  auto node = make_node<decltype(range::mapped)>(at, {.bytes = bytes});
  physical_memory* const used = physical::acquire_mapping(memory);
  if (used == nullptr) return CUDA_ERROR_INVALID_VALUE;
  node.mapped().memory = used;
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    status = map_whole(everything.ranges, at, bytes, offset, node);
  } catch (const std::bad_alloc&) {
    // Nothing is mapped.
  }
  if (status != CUDA_SUCCESS) physical::release_mapping(*used);
  return status;
}

CUresult unmap(std::uintptr_t at, std::size_t bytes) {
  if (!is_valid_range(at, bytes)) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  const auto around = find_containing(everything.ranges, at);
  if (around == everything.ranges.end()) return CUDA_ERROR_INVALID_VALUE;
  auto& mapped = around->second.mapped;
  const mappings there = mappings_in(around->second, at, bytes);
  if (!there.whole) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [start, each] : there) {
    remove_record(each);
    unmap_pages(start, each.bytes);
    physical::release_mapping(*each.memory);
  }
  mapped.erase(there.first, there.last);
  return CUDA_SUCCESS;
}

CUresult retain(std::uintptr_t at, CUmemGenericAllocationHandle* out) {
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  const mapping* const found = mapping_at(everything.ranges, at);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = physical::retain(*found->memory);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model::address_space
