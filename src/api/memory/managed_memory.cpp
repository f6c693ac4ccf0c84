// SPDX-License-Identifier: Apache-2.0
// api/memory/managed_memory.cpp - prefetches, advice and attributes of managed memory.
#include <weir/memory/managed_memory.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/memory_location.hpp"
#include "api/memory/operand.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

namespace weir::detail {
namespace {

[[nodiscard]] const char* name_of(range_operation operation) noexcept {
  switch (operation) {
    case range_operation::prefetch: return "cuMemPrefetchBatchAsync";
    case range_operation::discard: return "cuMemDiscardBatchAsync";
    case range_operation::discard_and_prefetch: return "cuMemDiscardAndPrefetchBatchAsync";
  }
  return "";
}

// The ranges and locations of a batch of prefetches, as arrays for the driver. Empty ranges are
// omitted. `targets` has one location per range, one location for all ranges, or none.
struct range_list {
  std::vector<CUdeviceptr> addresses;
  std::vector<std::size_t> sizes;
  std::vector<CUmemLocation> locations;
  // firsts[i] is the index of the first range to which locations[i] applies.
  std::vector<std::size_t> firsts;

  range_list(std::span<const region> ranges, std::span<const memory_location> targets) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i].bytes == 0) continue;
      if (!targets.empty() && (locations.empty() || targets.size() > 1)) {
        locations.push_back(location_of(targets[targets.size() > 1 ? i : 0]));
        firsts.push_back(addresses.size());
      }
      addresses.push_back(device_address(ranges[i].address));
      sizes.push_back(ranges[i].bytes);
    }
  }
};

CUresult enqueue(range_operation operation, range_list& list, CUstream stream) noexcept {
  CUdeviceptr* const addresses = list.addresses.data();
  std::size_t* const sizes = list.sizes.data();
  const std::size_t count = list.sizes.size();
  if (operation == range_operation::discard)
    return driver().cuMemDiscardBatchAsync(addresses, sizes, count, 0, stream);
  const auto enqueue_prefetch = operation == range_operation::prefetch
                                    ? driver().cuMemPrefetchBatchAsync
                                    : driver().cuMemDiscardAndPrefetchBatchAsync;
  return enqueue_prefetch(addresses, sizes, count, list.locations.data(), list.firsts.data(),
                          list.locations.size(), 0, stream);
}

// Prefetches one range. Drivers before CUDA 12.2 take a device instead of a location, so they do
// not support the NUMA nodes of the host.
CUresult prefetch_one(const region& range, memory_location location, CUstream stream) noexcept {
  const CUmemLocation driver_location = location_of(location);
  const CUdeviceptr address = device_address(range.address);
  const CUresult answer =
      driver().cuMemPrefetchAsync_v2(address, range.bytes, driver_location, 0, stream);
  const bool has_device = driver_location.type == CU_MEM_LOCATION_TYPE_DEVICE ||
                          driver_location.type == CU_MEM_LOCATION_TYPE_HOST;
  if (answer != CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER || !has_device) return answer;
  const CUdevice device =
      driver_location.type == CU_MEM_LOCATION_TYPE_DEVICE ? driver_location.id : CU_DEVICE_CPU;
  return driver().cuMemPrefetchAsync(address, range.bytes, device, stream);
}

[[noreturn, gnu::cold]] void throw_invalid_batch(const char* call, std::string hint, call_site at) {
  throw_error(errc::invalid_value, call, "the batch", std::move(hint), at);
}

}  // namespace

void prefetch_region(stream_ref stream, const region& range, memory_location location,
                     call_site at) {
  constexpr const char* call = "cuMemPrefetchAsync";
  const CUstream handle = require_open(stream, call, at);
  const operand memory{range, stream, call, at};
  if (range.bytes == 0) return;
  throw_if_capturing(handle, call, at);
  check(prefetch_one(range, location, handle), call, stream, at);
  memory.record_uses(at);
}

void enqueue_regions(stream_ref stream, range_operation operation, std::span<const region> ranges,
                     std::span<const memory_location> targets, call_site at) {
  const char* const call = name_of(operation);
  const CUstream handle = require_open(stream, call, at);
  if (operation != range_operation::discard && targets.size() != 1 &&
      targets.size() != ranges.size()) {
    throw_invalid_batch(
        call,
        fmt::format(
            "there are {} locations for {} ranges; pass one location for all, or one for each",
            targets.size(), ranges.size()),
        at);
  }
  operand_list operands{stream};
  for (const region& range : ranges) operands.add(range, call, at);
  range_list list{ranges, targets};
  if (list.sizes.empty()) return;
  if (is_legacy(handle))
    throw_invalid_batch(
        call, "the legacy default stream does not accept batches; use another stream", at);
  throw_if_capturing(handle, call, at);

  const CUresult answer = enqueue(operation, list, handle);
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER && operation == range_operation::prefetch) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      prefetch_region(stream, ranges[i], targets[targets.size() > 1 ? i : 0], at);
    }
  } else {
    check(answer, call, stream, at);
  }
  operands.record_uses(at);
}

void advise_region(const region& range, memory_advice advice, memory_location location,
                   call_site at) {
  constexpr const char* call = "cuMemAdvise";
  require_outside_host_function(call, subject::memory(range.address), at);
  if (range.owner != nullptr && range.owner->closed())
    throw_closed(call, subject::memory(range.address), at);
  if (range.bytes == 0) return;
  // The driver requires a context, although managed memory belongs to none.
  const make_current current{current_or_primary_context(at), at};
  const relaxed_capture_mode guard{at};
  check(driver().cuMemAdvise_v2(device_address(range.address), range.bytes,
                                static_cast<CUmem_advise>(advice), location_of(location)),
        call, subject::memory(range.address), at);
}

namespace {

// A location as two numbers, which the driver returns as attributes of a range.
struct raw_location {
  int type = 0;
  int id = 0;
};

std::optional<memory_location> to_memory_location(const raw_location& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return memory_location{device{location.id}};
    case CU_MEM_LOCATION_TYPE_HOST: return memory_location::host();
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return memory_location::host_node(location.id);
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return memory_location::current_host_node();
    default: return std::nullopt;
  }
}

}  // namespace

managed_state state_of_region(const region& range, call_site at) {
  constexpr const char* call = "cuMemRangeGetAttributes";
  const subject object = subject::memory(range.address);
  require_outside_host_function(call, object, at);
  if (range.owner != nullptr && range.owner->closed()) throw_closed(call, object, at);
  managed_state state;
  if (range.bytes == 0) return state;
  int read_mostly = 0;
  raw_location preferred;
  raw_location prefetched;
  std::array<int, 257> users{};  // room for the maximum number of devices and the host
  CUmem_range_attribute kinds[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                   CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE,
                                   CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID,
                                   CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE,
                                   CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
                                   CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
  void* data[] = {&read_mostly,     &preferred.type, &preferred.id,
                  &prefetched.type, &prefetched.id,  users.data()};
  std::size_t sizes[] = {sizeof(int), sizeof(int), sizeof(int),
                         sizeof(int), sizeof(int), users.size() * sizeof(int)};
  // The driver requires a context, although managed memory belongs to none.
  const make_current current{current_or_primary_context(at), at};
  const relaxed_capture_mode guard{at};
  check(driver().cuMemRangeGetAttributes(data, sizes, kinds, std::size(kinds),
                                         device_address(range.address), range.bytes),
        call, object, at);
  state.read_mostly = read_mostly != 0;
  state.preferred_location = to_memory_location(preferred);
  state.last_prefetch = to_memory_location(prefetched);
  // The driver sets unused elements to CU_DEVICE_INVALID. That and CU_DEVICE_CPU are negative.
  for (const int user : users) {
    if (user >= 0) state.accessed_by.emplace_back(user);
    if (user == CU_DEVICE_CPU) state.accessed_by_host = true;
  }
  return state;
}

void attach_region(stream_ref stream, const region& range, attachment visibility, call_site at) {
  constexpr const char* call = "cuStreamAttachMemAsync";
  const CUstream handle = require_open(stream, call, at);
  const operand memory{range, stream, call, at};
  if (range.bytes == 0) return;
  throw_if_capturing(handle, call, at);
  const relaxed_capture_mode guard{at};
  check(driver().cuStreamAttachMemAsync(handle, device_address(range.address), range.bytes,
                                        static_cast<unsigned>(visibility)),
        call, stream, at);
  memory.record_uses(at);
}

}  // namespace weir::detail
