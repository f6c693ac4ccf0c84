// SPDX-License-Identifier: Apache-2.0
// weir/memory/managed_memory.hpp - hints about where managed memory will be used, and by which
// processor.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/memory_location.hpp>
#include <weir/stream/stream.hpp>

#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

namespace weir {

/// Says which streams may use managed memory. Matters only on devices without
/// device_attribute::concurrent_managed_access.
enum class attachment : unsigned {
  global = 1,  ///< any stream
  host = 2,    ///< the host, and no stream
  /// The stream that was passed to attach(), and the host while that stream is idle.
  stream = 4,
};

/// The advice that advise() gives about a range.
enum class memory_advice : unsigned {
  read_mostly = 1,  ///< the driver may copy the range to each processor that reads it
  not_read_mostly = 2,
  preferred_location = 3,  ///< the range stays at the location if possible
  no_preferred_location = 4,
  /// Keeps the range mapped for the location, a device or the host, so that accesses of that
  /// processor cause no page faults.
  accessed_by = 5,
  not_accessed_by = 6,
};

/// The advice and the prefetches that the driver has recorded for a range of managed memory. A
/// property that does not hold for the whole range is false or empty.
struct managed_state {
  bool read_mostly = false;
  std::optional<memory_location> preferred_location = {};
  std::vector<device> accessed_by = {};  ///< the devices with the advice memory_advice::accessed_by
  bool accessed_by_host = false;         ///< true if the host has that advice
  /// The target of the last prefetch. It may not be complete yet.
  std::optional<memory_location> last_prefetch = {};
};

namespace detail {

enum class range_operation : unsigned char { prefetch, discard, discard_and_prefetch };

WEIR_EXPORT void prefetch_region(stream_ref stream, const region& range, memory_location location,
                                 call_site at);
WEIR_EXPORT void enqueue_regions(stream_ref stream, range_operation operation,
                                 std::span<const region> ranges,
                                 std::span<const memory_location> locations, call_site at);
WEIR_EXPORT void advise_region(const region& range, memory_advice advice, memory_location location,
                               call_site at);
WEIR_EXPORT void attach_region(stream_ref stream, const region& range, attachment visibility,
                               call_site at);

[[nodiscard]] WEIR_EXPORT managed_state state_of_region(const region& range, call_site at);

template <class R>
concept writable_range =
    memory_range<std::remove_reference_t<R>> && !std::is_const_v<element_of<R>>;

template <std::ranges::forward_range Ranges>
[[nodiscard]] std::vector<region> regions_of(Ranges&& ranges) {
  std::vector<region> all;
  for (auto&& range : ranges) all.push_back(region_of(range));
  return all;
}

}  // namespace detail

/// Queues moving a range of managed memory to a location, and returns without waiting. Work queued
/// after it finds the data there, and so does the host after a sync.
///
/// `range` is a managed_buffer or a std::span of one. The contents stay; whole pages are moved.
/// This is a hint, which a device with host memory of its own may ignore.
///
/// Throws: `invalid_value` if the memory is not managed.
/// In a capture: throws `stream_capture_unsupported` on a capturing stream before the driver is
/// called, since the driver would invalidate the capture. A graph has no such node.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemPrefetchAsync.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
void prefetch(stream_ref stream, R&& range, memory_location location,
              call_site at = call_site::current()) {
  static_assert(detail::outlives_call<R>,
                "the memory is moved later: a temporary would be gone by then");
  detail::prefetch_region(stream, detail::region_of(range), location, at);
}

/// Queues moving several ranges of managed memory in one call. The driver may move them in any
/// order. `locations` holds one location for each range, or one for all.
///
/// Throws: `invalid_value` if the numbers of ranges and locations do not match, for memory that is
/// not managed, and for the legacy default stream.
/// In a capture: as prefetch().
/// In a host function: throws `not_permitted`.
/// Driver: cuMemPrefetchBatchAsync; before CUDA 13 a prefetch() for each range.
template <std::ranges::forward_range Ranges>
void prefetch_each(stream_ref stream, Ranges&& ranges, std::span<const memory_location> locations,
                   call_site at = call_site::current()) {
  detail::enqueue_regions(stream, detail::range_operation::prefetch, detail::regions_of(ranges),
                          locations, at);
}
/// Queues moving several ranges of managed memory to one location in one call. Like prefetch_each()
/// with a list of locations.
template <std::ranges::forward_range Ranges>
void prefetch_each(stream_ref stream, Ranges&& ranges, memory_location location,
                   call_site at = call_site::current()) {
  prefetch_each(stream, ranges, std::span<const memory_location>{&location, 1}, at);
}

/// Queues a hint that the contents of a range are no longer needed, so that the driver need not
/// move them.
///
/// Reading the range before it is written or prefetched again returns unspecified values. If a
/// device writes the range after the discard, the program must prefetch the range to the host
/// before the host reads it.
///
/// Throws: `invalid_value` for memory that is not managed, and for the legacy default stream;
/// `call_requires_newer_driver` before CUDA 13.
/// In a capture: as prefetch().
/// In a host function: throws `not_permitted`.
/// Driver: cuMemDiscardBatchAsync.
template <detail::writable_range R>
void discard(stream_ref stream, R&& range, call_site at = call_site::current()) {
  static_assert(detail::outlives_call<R>,
                "the memory is looked at later: a temporary would be gone by then");
  const detail::region region = detail::region_of(range);
  detail::enqueue_regions(stream, detail::range_operation::discard, {&region, 1}, {}, at);
}
/// Queues discard() of several ranges in one call.
template <std::ranges::forward_range Ranges>
void discard_each(stream_ref stream, Ranges&& ranges, call_site at = call_site::current()) {
  detail::enqueue_regions(stream, detail::range_operation::discard, detail::regions_of(ranges), {},
                          at);
}

/// Queues discard() and then prefetch(). Prepares a range for new contents, at the location where
/// they will be written, without moving the previous contents.
///
/// Throws: as discard().
/// In a capture: as prefetch().
/// In a host function: throws `not_permitted`.
/// Driver: cuMemDiscardAndPrefetchBatchAsync.
template <detail::writable_range R>
void discard_and_prefetch(stream_ref stream, R&& range, memory_location location,
                          call_site at = call_site::current()) {
  static_assert(detail::outlives_call<R>,
                "the memory is moved later: a temporary would be gone by then");
  const detail::region region = detail::region_of(range);
  detail::enqueue_regions(stream, detail::range_operation::discard_and_prefetch, {&region, 1},
                          {&location, 1}, at);
}

/// Tells the driver how a range of managed memory will be used. Takes effect immediately, not in
/// stream order. `location` is ignored for read_mostly, not_read_mostly and no_preferred_location.
///
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemAdvise.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
void advise(R&& range, memory_advice advice, memory_location location = memory_location::host(),
            call_site at = call_site::current()) {
  detail::advise_region(detail::region_of(range), advice, location, at);
}

/// Returns what advise() and prefetch() have set for a range of managed memory. A prefetch that is
/// still queued may or may not be included. An empty range returns an empty state without a driver
/// call.
///
/// Throws: `invalid_value` if the memory is not managed; `call_requires_newer_driver` before CUDA
/// 12.2.
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemRangeGetAttributes.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
[[nodiscard]] managed_state state_of(R&& range, call_site at = call_site::current()) {
  return detail::state_of_region(detail::region_of(range), at);
}

/// Sets which streams may use a whole managed allocation: all (attachment::global), none
/// (attachment::host), or only `stream` (attachment::stream), which must not be a default stream
/// then. Takes effect in the order of `stream`. Matters only on devices without
/// device_attribute::concurrent_managed_access.
///
/// In a capture: as prefetch().
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamAttachMemAsync.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
void attach(stream_ref stream, R&& allocation, attachment visibility,
            call_site at = call_site::current()) {
  detail::attach_region(stream, detail::region_of(allocation), visibility, at);
}

}  // namespace weir
