// weir/memory/managed_memory.hpp - telling a driver where managed memory will be wanted, and by
// whom.
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

// Who may use managed memory, on devices where not everyone may at once.
enum class attachment : unsigned {
  global = 1,  // any stream
  host = 2,    // the host, and no stream
  stream = 4,  // the stream that it is attached on, and the host while that has nothing to do
};

// What advise() says of a range.
enum class memory_advice : unsigned {
  read_mostly = 1,  // may be copied to each who reads it
  not_read_mostly = 2,
  preferred_location = 3,  // stays there, if it can
  no_preferred_location = 4,
  accessed_by = 5,  // keeps a mapping for that device, or the host, so that access never faults
  not_accessed_by = 6,
};

// What a driver knows of a range of managed memory. Of what does not hold for all of it there is
// nothing.
struct managed_state {
  bool read_mostly = false;
  std::optional<memory_location> preferred_location = {};
  std::vector<device> accessed_by = {};  // the devices that advise() has named
  bool accessed_by_host = false;
  std::optional<memory_location> last_prefetch =
      {};  // where to; whether it has come there is not said
};

namespace detail {

enum class range_operation : unsigned char { prefetch, discard, discard_and_prefetch };

WEIR_EXPORT void prefetch_region(stream_ref stream, const region& range, memory_location to,
                                 call_site at);
WEIR_EXPORT void enqueue_regions(stream_ref stream, range_operation what,
                                 std::span<const region> ranges,
                                 std::span<const memory_location> locations, call_site at);
WEIR_EXPORT void advise_region(const region& range, memory_advice advice, memory_location location,
                               call_site at);
WEIR_EXPORT void attach_region(stream_ref stream, const region& range, attachment to, call_site at);

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

// Queues moving a range to a place, so that what is queued after it, or the host after a sync,
// finds it there. The contents stay. Managed memory only (a managed_buffer, or a std::span of one),
// else invalid_value; whole pages are moved. A hint, which a device with host memory of its own may
// ignore. Refused before the driver sees it while the stream captures (stream_capture_unsupported):
// it has no form in a graph, and the driver drops the capture. In a host function: refused.
// cuMemPrefetchAsync.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
void prefetch(stream_ref stream, R&& range, memory_location to,
              call_site at = call_site::current()) {
  static_assert(detail::outlives_call<R>,
                "the memory is moved later: a temporary would be gone by then");
  detail::prefetch_region(stream, detail::region_of(range), to, at);
}

// The same for many ranges in one call, in any order, to one place or to one place for each. There
// are as many places as ranges, or one (else invalid_value). Not in the legacy default stream
// (invalid_value). cuMemPrefetchBatchAsync; on a driver of before CUDA 13 a prefetch() for each.
template <std::ranges::forward_range Ranges>
void prefetch_each(stream_ref stream, Ranges&& ranges, std::span<const memory_location> locations,
                   call_site at = call_site::current()) {
  detail::enqueue_regions(stream, detail::range_operation::prefetch, detail::regions_of(ranges),
                          locations, at);
}
template <std::ranges::forward_range Ranges>
void prefetch_each(stream_ref stream, Ranges&& ranges, memory_location to,
                   call_site at = call_site::current()) {
  prefetch_each(stream, ranges, std::span<const memory_location>{&to, 1}, at);
}

// Queues saying that the contents are not needed any more, so that nothing is moved for them; what
// is read before it is written again, or prefetched, is anything. The host has to prefetch it, too,
// before it reads what a device wrote later. Streams and captures as for prefetch_each(). Needs a
// driver of CUDA 13 (else call_requires_newer_driver). cuMemDiscardBatchAsync.
template <detail::writable_range R>
void discard(stream_ref stream, R&& range, call_site at = call_site::current()) {
  static_assert(detail::outlives_call<R>,
                "the memory is looked at later: a temporary would be gone by then");
  const detail::region one = detail::region_of(range);
  detail::enqueue_regions(stream, detail::range_operation::discard, {&one, 1}, {}, at);
}
template <std::ranges::forward_range Ranges>
void discard_each(stream_ref stream, Ranges&& ranges, call_site at = call_site::current()) {
  detail::enqueue_regions(stream, detail::range_operation::discard, detail::regions_of(ranges), {},
                          at);
}

// discard(), then prefetch(): room for new contents, made where they will be written.
// cuMemDiscardAndPrefetchBatchAsync.
template <detail::writable_range R>
void discard_and_prefetch(stream_ref stream, R&& range, memory_location to,
                          call_site at = call_site::current()) {
  static_assert(detail::outlives_call<R>,
                "the memory is moved later: a temporary would be gone by then");
  const detail::region one = detail::region_of(range);
  detail::enqueue_regions(stream, detail::range_operation::discard_and_prefetch, {&one, 1},
                          {&to, 1}, at);
}

// Says once and for all how a range of managed memory will be used. At once, in no stream's order;
// the place means nothing to the advice that names none. In a capture: allowed. In a host function:
// refused. cuMemAdvise.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
void advise(R&& range, memory_advice advice, memory_location location = memory_location::host(),
            call_site at = call_site::current()) {
  detail::advise_region(detail::region_of(range), advice, location, at);
}

// What advise() and prefetch() have told the driver of a range of managed memory (else
// invalid_value). At once: what is still queued may count or not. Of nothing: nothing, without a
// driver call. In a capture: allowed. In a host function: refused. Needs a driver of CUDA 12.2.
// cuMemRangeGetAttributes.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
[[nodiscard]] managed_state state_of(R&& range, call_site at = call_site::current()) {
  return detail::state_of_region(detail::region_of(range), at);
}

// Attaches a whole managed allocation, in the order of the stream: to everyone, to the host, or to
// that stream, which is no default stream then. What matters on devices without concurrent access.
// Captures as for prefetch(). cuStreamAttachMemAsync.
template <class R>
requires detail::memory_range<std::remove_reference_t<R>>
void attach(stream_ref stream, R&& allocation, attachment to, call_site at = call_site::current()) {
  detail::attach_region(stream, detail::region_of(allocation), to, at);
}

}  // namespace weir
