// SPDX-License-Identifier: Apache-2.0
// api/memory/memory_pool.cpp - memory pools: creation, attributes, access, and a device's current
// pool.
#include <weir/core/deferred.hpp>
#include <weir/memory/memory_pool.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/memory_location.hpp"
#include "api/memory/pool_allocation.hpp"
#include "api/profiler/names.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;

namespace detail {
namespace {

// Returns an attribute of a pool. `Value` must be int for an attribute that is a flag, and a 64-bit
// type for any other attribute, because the driver writes that size.
template <class Value>
Value attribute(memory_pool_ref pool, CUmemPool_attribute attribute_id, call_site at) {
  constexpr const char* call = "cuMemPoolGetAttribute";
  const CUmemoryPool handle = require_open(pool, call, at);
  const relaxed_capture_mode guard{at};
  Value value{};
  check(driver().cuMemPoolGetAttribute(handle, attribute_id, &value), call, pool, at);
  return value;
}

template <class Value>
void set_attribute(memory_pool_ref pool, CUmemPool_attribute attribute_id, Value value,
                   call_site at) {
  constexpr const char* call = "cuMemPoolSetAttribute";
  const CUmemoryPool handle = require_open(pool, call, at);
  const relaxed_capture_mode guard{at};
  check(driver().cuMemPoolSetAttribute(handle, attribute_id, &value), call, pool, at);
}

// Returns the location of the memory of a new pool. Throws if the options are contradictory. A pool
// of managed memory has a location only if the options contain one.
CUmemLocation pool_location(device gpu, const memory_pool_options& options, call_site at) {
  const auto require = [&](bool fits, const char* hint) {
    if (!fits) throw_error(errc::invalid_value, "cuMemPoolCreate", to_text(gpu), hint, at);
  };
  const std::optional<memory_location>& location = options.location;
  switch (options.memory) {
    case pool_memory::device:
      require(!location || *location == memory_location{gpu},
              "device memory is located on its own device; leave memory_pool_options::location "
              "unset");
      return location_of(gpu);
    case pool_memory::pinned:
      require(!location || !location->is_device(),
              "pinned memory cannot be located on a device; set memory_pool_options::location "
              "to the host or one of its NUMA nodes");
      return location_of(location.value_or(memory_location::host()));
    case pool_memory::managed: break;
    default:
      require(false,
              "the kind of memory is not a value of weir::pool_memory; use device, pinned or "
              "managed");
  }
  return location ? location_of(*location) : CUmemLocation{CU_MEM_LOCATION_TYPE_NONE, 0};
}

memory_pool_ref create_pool(device gpu, const memory_pool_options& options, call_site at) {
  CUmemPoolProps props{};
  props.allocType = options.memory == pool_memory::managed ? CU_MEM_ALLOCATION_TYPE_MANAGED
                                                           : CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = static_cast<CUmemAllocationHandleType>(options.sharing);
  props.location = pool_location(gpu, options, at);
  props.maxSize = options.max_size;
  const relaxed_capture_mode guard{at};
  CUmemoryPool pool = nullptr;
  check(driver().cuMemPoolCreate(&pool, &props), "cuMemPoolCreate", gpu, at);
  return {pool, gpu};
}

void destroy_pool(memory_pool_ref pool, call_site at) {
  forget_name(pool);
  const relaxed_capture_mode guard{at};
  check(driver().cuMemPoolDestroy(pool.get()), "cuMemPoolDestroy", pool, at);
}

void destroy_noexcept(memory_pool_ref pool) noexcept {
  report_failure_of(pool, "cuMemPoolDestroy", [pool] { destroy_pool(pool, call_site{}); });
}

}  // namespace
}  // namespace detail

void* memory_pool_ref::allocate(stream_ref stream, std::size_t bytes, call_site at) const {
  return detail::to_pointer(detail::allocate_from(*this, stream, bytes, at));
}

void memory_pool_ref::deallocate(stream_ref stream, void* address, call_site at) const {
  constexpr const char* call = "cuMemFreeAsync";
  CUstream_st* const handle = require_open(stream, call, at);
  if (address == nullptr) return;
  const detail::relaxed_mode_if_capturing guard{at};
  check(driver().cuMemFreeAsync(detail::device_address(address), handle), call,
        detail::subject::memory(address), at);
}

unsigned long long memory_pool_ref::release_threshold(call_site at) const {
  return detail::attribute<unsigned long long>(*this, abi::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, at);
}

void memory_pool_ref::set_release_threshold(unsigned long long bytes, call_site at) const {
  detail::set_attribute(*this, abi::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes, at);
}

void memory_pool_ref::trim(std::size_t kept_bytes, call_site at) const {
  constexpr const char* call = "cuMemPoolTrimTo";
  CUmemPoolHandle_st* const handle = require_open(*this, call, at);
  const detail::relaxed_capture_mode guard{at};
  check(driver().cuMemPoolTrimTo(handle, kept_bytes), call, *this, at);
}

pool_reuse memory_pool_ref::reuse(call_site at) const {
  const auto is_on = [&](abi::CUmemPool_attribute attribute_id) {
    return detail::attribute<int>(*this, attribute_id, at) != 0;
  };
  return {is_on(abi::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES),
          is_on(abi::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC),
          is_on(abi::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)};
}

void memory_pool_ref::set_reuse(pool_reuse rules, call_site at) const {
  const auto set = [&](abi::CUmemPool_attribute attribute_id, bool enabled) {
    detail::set_attribute<int>(*this, attribute_id, enabled, at);
  };
  set(abi::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, rules.follow_event_dependencies);
  set(abi::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, rules.opportunistic);
  set(abi::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, rules.internal_dependencies);
}

pool_usage memory_pool_ref::usage(call_site at) const {
  const auto bytes = [&](abi::CUmemPool_attribute attribute_id) {
    return detail::attribute<unsigned long long>(*this, attribute_id, at);
  };
  return {.reserved = bytes(abi::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
          .reserved_high = bytes(abi::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH),
          .used = bytes(abi::CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
          .used_high = bytes(abi::CU_MEMPOOL_ATTR_USED_MEM_HIGH)};
}

void memory_pool_ref::reset_high_watermarks(call_site at) const {
  detail::set_attribute(*this, abi::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0ull, at);
  detail::set_attribute(*this, abi::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0ull, at);
}

void memory_pool_ref::set_access(weir::device peer, pool_access access, call_site at) const {
  constexpr const char* call = "cuMemPoolSetAccess";
  CUmemPoolHandle_st* const handle = require_open(*this, call, at);
  const abi::CUmemAccessDesc descriptor{detail::location_of(peer),
                                        static_cast<abi::CUmemAccess_flags>(access)};
  const detail::relaxed_capture_mode guard{at};
  check(driver().cuMemPoolSetAccess(handle, &descriptor, 1), call, *this, at);
}

pool_access memory_pool_ref::access(weir::device peer, call_site at) const {
  constexpr const char* call = "cuMemPoolGetAccess";
  CUmemPoolHandle_st* const handle = require_open(*this, call, at);
  abi::CUmemLocation location = detail::location_of(peer);
  abi::CUmemAccess_flags flags = abi::CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const detail::relaxed_capture_mode guard{at};
  check(driver().cuMemPoolGetAccess(&flags, handle, &location), call, *this, at);
  return flags == abi::CU_MEM_ACCESS_FLAGS_PROT_NONE ? pool_access::none : pool_access::read_write;
}

memory_pool::memory_pool(weir::device gpu, memory_pool_options options, call_site at)
    : memory_pool_ref{detail::closed_handle<CUmemPoolHandle_st>(), gpu} {
  detail::require_outside_host_function("cuMemPoolCreate", gpu, at);
  // The pool's memory belongs to the device, whose primary context must be active.
  static_cast<void>(detail::primary_context(gpu, at));
  exchange_handle(detail::create_pool(gpu, options, at).get());
  try {
    if (options.release_threshold != 0) set_release_threshold(options.release_threshold, at);
    if (options.reuse != pool_reuse{}) set_reuse(options.reuse, at);
    // At first only the host can access a pool of pinned memory.
    if (options.memory == pool_memory::pinned) set_access(gpu, pool_access::read_write, at);
  } catch (...) {
    detail::destroy_noexcept(*this);
    throw;
  }
}

memory_pool memory_pool::adopt(CUmemPoolHandle_st* handle, weir::device gpu, call_site at) {
  constexpr const char* call = "weir::memory_pool::adopt";
  require_open(memory_pool_ref{handle, gpu}, call, at);
  if (handle == nullptr)
    detail::throw_error(errc::invalid_value, call, "null",
                        "the pool is null; pass an existing pool", at);
  return memory_pool{memory_pool_ref{handle, gpu}};
}

memory_pool::memory_pool(memory_pool&& other) noexcept : memory_pool_ref{other} {
  other.exchange_handle(detail::closed_handle<CUmemPoolHandle_st>());
}

memory_pool& memory_pool::operator=(memory_pool&& other) noexcept {
  memory_pool replacement{std::move(other)};
  std::swap<memory_pool_ref>(*this, replacement);
  return *this;
}

memory_pool::~memory_pool() {
  if (closed()) return;
  detail::run_or_defer([pool = ref()]() noexcept { detail::destroy_noexcept(pool); });
}

void memory_pool::close(call_site at) {
  if (closed()) return;
  require_open(*this, "cuMemPoolDestroy", at);
  const memory_pool_ref pool = *this;
  exchange_handle(detail::closed_handle<CUmemPoolHandle_st>());
  detail::destroy_pool(pool, at);
}

CUmemPoolHandle_st* memory_pool::release(call_site at) {
  require_open(*this, "weir::memory_pool::release", at);
  return exchange_handle(detail::closed_handle<CUmemPoolHandle_st>());
}

memory_pool_ref default_memory_pool(device gpu, call_site at) {
  abi::CUmemoryPool pool = nullptr;
  check(driver().cuDeviceGetDefaultMemPool(&pool, detail::driver_device(gpu, at)),
        "cuDeviceGetDefaultMemPool", gpu, at);
  return {pool, gpu};
}

memory_pool_ref current_memory_pool(device gpu, call_site at) {
  abi::CUmemoryPool pool = nullptr;
  check(driver().cuDeviceGetMemPool(&pool, detail::driver_device(gpu, at)), "cuDeviceGetMemPool",
        gpu, at);
  return {pool, gpu};
}

void set_current_memory_pool(memory_pool_ref pool, call_site at) {
  constexpr const char* call = "cuDeviceSetMemPool";
  CUmemPoolHandle_st* const handle = require_open(pool, call, at);
  const abi::CUdevice gpu = detail::driver_device(pool.device(), at);
  const detail::relaxed_capture_mode guard{at};
  check(driver().cuDeviceSetMemPool(gpu, handle), call, pool, at);
}

memory_pool_scope::memory_pool_scope(memory_pool_ref pool, call_site at)
    : previous_pool_{current_memory_pool(pool.device(), at)} {
  set_current_memory_pool(pool, at);
}

memory_pool_scope::~memory_pool_scope() {
  detail::report_failure_of(previous_pool_, "cuDeviceSetMemPool",
                            [this] { set_current_memory_pool(previous_pool_); });
}

}  // namespace weir
