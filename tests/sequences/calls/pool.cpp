// SPDX-License-Identifier: Apache-2.0
// sequences/calls/pool.cpp - stream-ordered memory, and its pools.
#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

#include <cstring>

namespace weir::sequences {
namespace {

constexpr std::size_t max_pools = 2;

void create_pool(world& w) {
  CUmemPoolProps props;
  std::memset(&props, 0, sizeof props);
  props.allocType = static_cast<CUmemAllocationType>(w.d.one_of({1u, 1u, 1u, 1u, 1u, 0u, 99u}));
  props.handleTypes = static_cast<CUmemAllocationHandleType>(w.d.one_of({0u, 0u, 0u, 1u, 0x100u}));
  props.location = {
      .type = static_cast<CUmemLocationType>(w.d.one_of({1u, 1u, 1u, 1u, 1u, 0u, 99u})),
      .id = w.d.one_of({0, 0, 0, 0, 0, -1, 64})};
  if (live_indices(w.pools).size() >= max_pools) return;
  CUmemoryPool made = nullptr;
  const CUresult r = w.driver().cuMemPoolCreate(w.d.one_in(32) ? nullptr : &made, &props);
  std::string name;
  if (r == CUDA_SUCCESS) {
    name = fmt::format("q{}", w.pools.size());
    w.pools.push_back({.handle = made, .name = name});
  }
  w.text.call(
      r,
      fmt::format("cuMemPoolCreate({}, {:#x}, {} {})", static_cast<unsigned>(props.allocType),
                  static_cast<unsigned>(props.handleTypes),
                  static_cast<unsigned>(props.location.type), props.location.id),
      name);
}

void destroy_pool(world& w) {
  const CUmemoryPool pool = any_pool(w);
  const std::string name = name_of(w, pool);
  if (!sync_all(w)) return;
  const CUresult r = w.driver().cuMemPoolDestroy(pool);
  w.text.call(r, fmt::format("cuMemPoolDestroy({})", name));
  if (r != CUDA_SUCCESS) return;
  for (pool_object& one : w.pools) {
    if (one.handle == pool) one.live = false;
  }
  // No pool was created since, so the handle still belongs to nothing.
  if (w.d.one_in(4))
    w.text.call(w.driver().cuMemPoolTrimTo(pool, 0),
                fmt::format("cuMemPoolTrimTo({}, gone)", name));
}

void allocate_from_pool(world& w) {
  const chosen_stream s = any_stream(w);
  const std::size_t size = w.d.one_of<std::size_t>(
      {1, 64, 100, 512, 4096, 5000, 65536, 100000, 0, std::size_t{1} << 50});
  if (is_full(w)) return;
  CUdeviceptr made = 0;
  CUresult r = CUDA_SUCCESS;
  const bool nowhere = w.d.one_in(32);
  std::string call;
  if (w.d.below(2) == 0) {
    r = w.driver().cuMemAllocAsync(nowhere ? nullptr : &made, size, s.handle);
    call = fmt::format("cuMemAllocAsync({}, {})", size, s.name);
  } else {
    const CUmemoryPool pool = any_pool(w);
    r = w.driver().cuMemAllocFromPoolAsync(nowhere ? nullptr : &made, size, pool, s.handle);
    call = fmt::format("cuMemAllocFromPoolAsync({}, {}, {})", size, name_of(w, pool), s.name);
  }
  std::string name;
  if (r == CUDA_SUCCESS && size != 0)
    name = add_block(w, {.kind = memory::pooled, .address = made, .size = size}, s);
  else if (r == CUDA_SUCCESS)
    name = made == 0 ? "0" : "not 0";
  w.text.call(r, call, name);
}

void release_to_pool(world& w) {
  block* const in = any_block(w);
  const chosen_stream s = any_stream(w);
  if (in == nullptr)
    return w.text.call(w.driver().cuMemFreeAsync(0, s.handle), "cuMemFreeAsync(0)");
  const CUdeviceptr address = in->address + (w.d.one_in(8) ? in->size / 2 : 0);
  if (w.wild() && !can_free(w, *in)) return;
  order_after_last_use(w, *in, s);
  const std::string name = where(w, address);
  const CUresult r = w.driver().cuMemFreeAsync(address, s.handle);
  w.text.call(r, fmt::format("cuMemFreeAsync({}, {})", name, s.name));
  if (r != CUDA_SUCCESS) return;
  in->live = false;
  // Only memory of a pool: freeing other memory twice this way breaks a GPU's driver.
  if (!w.d.one_in(4) || (in->kind != memory::pooled && !w.wild())) return;
  sync_all(w);
  w.text.call(w.driver().cuMemFreeAsync(address, s.handle),
              fmt::format("cuMemFreeAsync({} again, {})", name, s.name));
}

void trim(world& w) {
  const CUmemoryPool pool = any_pool(w);
  const std::size_t keep = w.d.one_of<std::size_t>({0, 1, 1 << 20, ~std::size_t{0}});
  sync_all(w);
  w.text.call(w.driver().cuMemPoolTrimTo(pool, keep),
              fmt::format("cuMemPoolTrimTo({}, {})", name_of(w, pool), keep));
}

// Records sizes only for the sequence's own pools, and of reserved sizes only whether they are 0.
void get_attribute(world& w) {
  const CUmemoryPool pool = any_pool(w);
  const auto attribute = static_cast<CUmemPool_attribute>(
      w.d.one_of({1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 7u, 5u, 0u, 99u}));
  sync_all(w);
  cuuint64_t value = 0;
  const CUresult r =
      w.driver().cuMemPoolGetAttribute(pool, attribute, w.d.one_in(32) ? nullptr : &value);
  const std::string name = name_of(w, pool);
  std::string value_text;
  if (r == CUDA_SUCCESS && name.starts_with('q')) {
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
      value_text = value == 0 ? "0" : "some";
    else if (attribute != CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH &&
             attribute != CU_MEMPOOL_ATTR_USED_MEM_HIGH)
      value_text = fmt::format("{}", value);
  }
  w.text.call(r,
              fmt::format("cuMemPoolGetAttribute({}, {})", name, static_cast<unsigned>(attribute)),
              value_text);
}

// Only for the sequence's own pools: the device's pool would keep the value for later sequences.
void set_attribute(world& w) {
  const std::vector<std::size_t> live = live_indices(w.pools);
  const pool_object* const pool = live.empty() ? nullptr : &w.pools[live.back()];
  const auto attribute =
      static_cast<CUmemPool_attribute>(w.d.one_of({1u, 2u, 3u, 4u, 4u, 5u, 6u, 7u, 8u, 0u, 99u}));
  cuuint64_t value = w.d.one_of<cuuint64_t>({0, 1, 2, 1 << 20, ~cuuint64_t{0}});
  const CUresult r =
      w.driver().cuMemPoolSetAttribute(pool != nullptr ? pool->handle : nullptr, attribute, &value);
  w.text.call(
      r, fmt::format("cuMemPoolSetAttribute({}, {}, {})", pool != nullptr ? pool->name : "null",
                     static_cast<unsigned>(attribute), value));
}

CUmemLocation any_pool_location(world& w) {
  return {.type = static_cast<CUmemLocationType>(w.d.one_of({1u, 1u, 1u, 2u, 3u, 0u, 99u})),
          .id = w.d.one_of({0, 0, 0, 0, -1, 64})};
}

void get_access(world& w) {
  const CUmemoryPool pool = any_pool(w);
  CUmemLocation location = any_pool_location(w);
  auto flags = static_cast<CUmemAccess_flags>(99);
  const CUresult r = w.driver().cuMemPoolGetAccess(w.d.one_in(32) ? nullptr : &flags, pool,
                                                   w.d.one_in(32) ? nullptr : &location);
  w.text.call(r,
              fmt::format("cuMemPoolGetAccess({}, {} {})", name_of(w, pool),
                          static_cast<unsigned>(location.type), location.id),
              fmt::format("{}", static_cast<unsigned>(flags)));
}

void set_access(world& w) {
  const std::vector<std::size_t> live = live_indices(w.pools);
  const pool_object* const pool = live.empty() ? nullptr : &w.pools[live.back()];
  CUmemAccessDesc access[2];
  std::string list;
  for (CUmemAccessDesc& one : access) {
    one = {.location = any_pool_location(w),
           .flags = static_cast<CUmemAccess_flags>(w.d.one_of({3u, 3u, 1u, 0u, 2u}))};
    list += fmt::format(", {} {} {}", static_cast<unsigned>(one.location.type), one.location.id,
                        static_cast<unsigned>(one.flags));
  }
  const std::size_t count = w.d.below(3);
  const CUresult r =
      w.driver().cuMemPoolSetAccess(pool != nullptr ? pool->handle : nullptr, access, count);
  w.text.call(r, fmt::format("cuMemPoolSetAccess({}, {}{})", pool != nullptr ? pool->name : "null",
                             count, list));
}

// Reads and changes the device's current pool; the end of the sequence restores it.
void current_pool(world& w) {
  const CUdevice device = w.d.one_of({0, 0, 0, 0, -1, 64});
  CUmemoryPool pool = nullptr;
  switch (w.d.below(3)) {
    case 0: {
      const CUresult r = w.driver().cuDeviceGetMemPool(w.d.one_in(16) ? nullptr : &pool, device);
      return w.text.call(r, fmt::format("cuDeviceGetMemPool({})", device), name_of(w, pool));
    }
    case 1: {
      const CUresult r =
          w.driver().cuDeviceGetDefaultMemPool(w.d.one_in(16) ? nullptr : &pool, device);
      return w.text.call(r, fmt::format("cuDeviceGetDefaultMemPool({})", device), name_of(w, pool));
    }
    default:
      pool = any_pool(w);
      return w.text.call(w.driver().cuDeviceSetMemPool(device, pool),
                         fmt::format("cuDeviceSetMemPool({}, {})", device, name_of(w, pool)));
  }
}

void pool_of_location(world& w) {
  CUmemLocation location = any_pool_location(w);
  const auto type = static_cast<CUmemAllocationType>(w.d.one_of({1u, 1u, 1u, 0u, 99u}));
  CUmemoryPool pool = nullptr;
  const bool fallback = w.d.below(2) == 1;
  const auto call = fallback ? w.driver().cuMemGetDefaultMemPool : w.driver().cuMemGetMemPool;
  const CUresult r =
      call(w.d.one_in(16) ? nullptr : &pool, w.d.one_in(16) ? nullptr : &location, type);
  const bool here = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  w.text.call(
      r,
      fmt::format("cuMemGet{}MemPool({} {}, {})", fallback ? "Default" : "",
                  static_cast<unsigned>(location.type), location.id, static_cast<unsigned>(type)),
      here ? name_of(w, pool) : "");
}

}  // namespace

std::span<const action> pool_actions() {
  static constexpr action all[] = {
      {3, create_pool}, {2, destroy_pool},  {10, allocate_from_pool}, {8, release_to_pool},
      {2, trim},        {5, get_attribute}, {4, set_attribute},       {1, get_access},
      {1, set_access},  {2, current_pool},  {1, pool_of_location},
  };
  return all;
}

}  // namespace weir::sequences
