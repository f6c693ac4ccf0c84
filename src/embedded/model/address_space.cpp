// model/address_space.cpp - reserved ranges are mappings without access; memory is mapped over them.
#include "embedded/model/address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "embedded/model/address_map.hpp"
#include "embedded/model/physical_memory.hpp"
#include "embedded/model/process.hpp"

namespace weir::embedded::model::address_space {

using namespace abi;

namespace {

using physical::granularity;

// An allocation, or a part of it, at some addresses.
struct mapping {
  physical_memory* memory = nullptr;
  std::size_t bytes = 0;
  unsigned long long id = 0;
  allocation* record = nullptr;  // in the address map, while somebody has access
  std::vector<std::pair<CUmemLocation, CUmemAccess_flags>> access{};
};

struct range {
  std::size_t bytes = 0;
  std::map<std::uintptr_t, mapping> mapped;
};

using ranges_by_start = std::map<std::uintptr_t, range>;

// Everything that is reserved. Never destroyed: what is mapped may be used until the very end.
struct reservations {
  std::shared_mutex mutex;
  ranges_by_start ranges;
};

reservations& all() {
  static reservations& made = *new reservations;
  return made;
}

bool is_aligned(std::uintptr_t value) { return value % granularity == 0; }

// The entry of a map from starts to things with a length that holds an address; end() where there is none.
template <class Map>
auto holder_of(Map& things, std::uintptr_t address) {
  auto next = things.upper_bound(address);
  if (next == things.begin()) return things.end();
  auto before = std::prev(next);
  return address - before->first < before->second.bytes ? before : things.end();
}

// The range that holds [at, at + bytes); null where none holds all of it.
range* range_around(ranges_by_start& in, std::uintptr_t at, std::size_t bytes) {
  const auto found = holder_of(in, at);
  if (found == in.end() || bytes > found->second.bytes - (at - found->first)) return nullptr;
  return &found->second;
}

mapping* mapping_at(ranges_by_start& in, std::uintptr_t at, std::uintptr_t* start = nullptr) {
  const auto around = holder_of(in, at);
  if (around == in.end()) return nullptr;
  auto& mapped = around->second.mapped;
  const auto found = holder_of(mapped, at);
  if (found == mapped.end()) return nullptr;
  if (start != nullptr) *start = found->first;
  return &found->second;
}

using mapping_iterator = std::map<std::uintptr_t, mapping>::iterator;

// Mappings of a range that lie in [at, at + bytes), from the first up to one behind the last.
struct mappings {
  mapping_iterator first, last;
  bool whole = true;    // none goes beyond it
  bool gapless = true;  // they cover all of it

  [[nodiscard]] auto begin() const { return first; }
  [[nodiscard]] auto end() const { return last; }
};

mappings mappings_in(range& in, std::uintptr_t at, std::size_t bytes) {
  mappings found{in.mapped.lower_bound(at), in.mapped.lower_bound(at + bytes)};
  const auto before = holder_of(in.mapped, at);
  found.whole = before == in.mapped.end() || before == found.first;
  std::uintptr_t next = at;
  for (auto each = found.first; each != found.last; ++each) {
    if (each->first != next) found.gapless = false;
    next = each->first + each->second.bytes;
  }
  if (next > at + bytes) found.whole = false;
  if (next != at + bytes) found.gapless = false;
  return found;
}

// A node for a map, made before anything that would have to be undone.
template <class Map>
typename Map::node_type make_node(std::uintptr_t key, typename Map::mapped_type value) {
  Map one;
  one.emplace(key, std::move(value));
  return one.extract(one.begin());
}

// Takes addresses from the system that nobody may touch. Null where there are none.
void* reserve_pages(std::size_t bytes, void* at, int flags) noexcept {
  void* const got = mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return got == MAP_FAILED ? nullptr : got;
}

std::uintptr_t reserve_wished(std::size_t bytes, std::uintptr_t wish) noexcept {
  void* const got = reserve_pages(bytes, reinterpret_cast<void*>(wish), MAP_FIXED_NOREPLACE);
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

// Work that was enqueued may still use the memory of a mapping that goes.
void wait_for_devices() {
  process& p = this_process();
  p.contexts.for_each([](context& c) {
    if (c.alive()) c.synchronize();
  });
}

bool is_same(const CUmemLocation& one, const CUmemLocation& other) {
  return one.type == other.type && one.id == other.id;
}

CUmemAccess_flags access_of(const mapping& in, const CUmemLocation& who) {
  const auto found = std::ranges::find_if(in.access, [&](const auto& entry) { return is_same(entry.first, who); });
  return found == in.access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
}

// The address map knows what somebody may touch.
void show(mapping& in, std::uintptr_t start) {
  if (in.record != nullptr) return;
  process& p = this_process();
  const CUmemLocation& where = in.memory->properties.location;
  const bool on_host = where.type != CU_MEM_LOCATION_TYPE_DEVICE;
  in.record = &address_map::instance().add(start, in.bytes);
  in.record->kind = memory_kind::mapped;
  in.record->id = in.id;
  in.record->on_host = on_host;
  in.record->on = p.find_device(on_host ? 0 : where.id);
  in.record->handle_types = in.memory->properties.requestedHandleTypes;
  in.record->open(in.bytes);
}

void hide(mapping& in) noexcept {
  if (in.record == nullptr) return;
  (void)in.record->close();
  address_map::instance().remove(*std::exchange(in.record, nullptr));
}

CUresult check_place(const CUmemLocation& who) {
  switch (who.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return this_process().find_device(who.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    case CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult check(const CUmemAccessDesc& wanted) {
  switch (wanted.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: return check_place(wanted.location);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Keeps what a place may do; to do nothing is not kept.
void let(mapping& in, const CUmemAccessDesc& wanted) {
  std::erase_if(in.access, [&](const auto& entry) { return is_same(entry.first, wanted.location); });
  if (wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) in.access.emplace_back(wanted.location, wanted.flags);
}

}  // namespace

CUresult reserve(std::size_t bytes, std::size_t alignment, std::uintptr_t wish, std::uintptr_t& out) {
  if (bytes == 0 || !is_aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  auto node = make_node<ranges_by_start>(0, {bytes, {}});
  std::uintptr_t start = wish != 0 && is_aligned(wish) ? reserve_wished(bytes, wish) : 0;
  if (start == 0) start = reserve_aligned(bytes, std::max(alignment, granularity));
  if (start == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  node.key() = start;
  everything.ranges.insert(std::move(node));
  out = start;
  return CUDA_SUCCESS;
}

CUresult free(std::uintptr_t start, std::size_t bytes) {
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  const auto found = everything.ranges.find(start);
  if (found == everything.ranges.end() || found->second.bytes != bytes || !found->second.mapped.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  everything.ranges.erase(found);
  munmap(reinterpret_cast<void*>(start), bytes);
  return CUDA_SUCCESS;
}

bool is_reserved(std::uintptr_t address) {
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  return holder_of(everything.ranges, address) != everything.ranges.end();
}

CUresult map(std::uintptr_t at, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle memory) {
  if (bytes == 0 || !is_aligned(at) || !is_aligned(bytes) || !is_aligned(offset)) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  range* const in = range_around(everything.ranges, at, bytes);
  if (in == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const mappings there = mappings_in(*in, at, bytes);
  if (there.first != there.last || !there.whole) return CUDA_ERROR_INVALID_VALUE;

  auto node = make_node<decltype(in->mapped)>(at, {.memory = nullptr, .bytes = bytes, .id = address_map::next_id()});
  physical_memory* const used = physical::use(memory);
  if (used == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool within = offset <= used->bytes && bytes <= used->bytes - offset;
  if (within && used->segment.map(offset, bytes, reinterpret_cast<void*>(at)) != nullptr) {
    node.mapped().memory = used;
    in->mapped.insert(std::move(node));
    return CUDA_SUCCESS;
  }
  physical::unuse(*used);
  return within ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}

CUresult unmap(std::uintptr_t at, std::size_t bytes) {
  if (bytes == 0 || !is_aligned(at) || !is_aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  range* const in = range_around(everything.ranges, at, bytes);
  if (in == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const mappings there = mappings_in(*in, at, bytes);
  if (!there.whole) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [start, each] : there) hide(each);
  wait_for_devices();
  reserve_pages(bytes, reinterpret_cast<void*>(at), MAP_FIXED);
  for (auto& [start, each] : there) physical::unuse(*each.memory);
  in->mapped.erase(there.first, there.last);
  return CUDA_SUCCESS;
}

CUresult set_access(std::uintptr_t at, std::size_t bytes, std::span<const CUmemAccessDesc> wanted) {
  for (const CUmemAccessDesc& each : wanted) {
    if (const CUresult status = check(each); status != CUDA_SUCCESS) return status;
  }
  if (bytes == 0 || !is_aligned(at) || !is_aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  range* const in = range_around(everything.ranges, at, bytes);
  if (in == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const mappings there = mappings_in(*in, at, bytes);
  if (!there.whole || !there.gapless) return CUDA_ERROR_INVALID_VALUE;
  for (auto& [start, each] : there) {
    for (const CUmemAccessDesc& desc : wanted) let(each, desc);
    each.access.empty() ? hide(each) : show(each, start);
  }
  return CUDA_SUCCESS;
}

CUresult get_access(std::uintptr_t at, const CUmemLocation& who, CUmemAccess_flags& out) {
  if (const CUresult status = check_place(who); status != CUDA_SUCCESS) return status;
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  const mapping* const found = mapping_at(everything.ranges, at);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = access_of(*found, who);
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

bool find(std::uintptr_t at, mapping_info& out) {
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  std::uintptr_t start = 0;
  const mapping* const found = mapping_at(everything.ranges, at, &start);
  if (found == nullptr) return false;
  out = {start, found->bytes, found->id, found->memory->properties};
  return true;
}

}  // namespace weir::embedded::model::address_space
