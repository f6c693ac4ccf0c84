// weir/event/timer.hpp - how long sections of streams take, by name.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace detail {
class timing_store;
}

// What is known of the sections of one name, in milliseconds.
struct timing {
  std::string name;
  std::size_t count = 0;  // how many are in the following
  double total = 0;
  double min = 0;
  double max = 0;
  double last = 0;          // of the one that was begun last
  std::size_t pending = 0;  // how many more have not been reached by their streams yet
  [[nodiscard]] double mean() const noexcept {
    return count == 0 ? 0 : total / static_cast<double>(count);
  }
};

// Collects times. Taking one records two timed events (1.4 us of the host and 2 us of the GPU each
// on an H200), which are kept for the next ones; nobody waits until sync() is asked for.
//
//   weir::timings times;
//   {
//     weir::timer t{times, "upload", s};
//     weir::copy(s, host, x);
//   }
//   times.sync();
//   double ms = times.of("upload")->mean();
//
// What is measured is the time between two points of a stream: the work of the section, and
// whatever kept the stream from it. Work of other streams that shares the device lengthens it, and
// on a blocking stream work of the default stream may lie in between. The time from queueing to the
// beginning is not in it. Move-only; timers refer to what is inside, so they may outlive it. A
// green context lives as long as the timings of its streams; a context of somebody else's has to.
// Thread safety: any operation from any thread.
class WEIR_EXPORT timings {
 public:
  timings();
  timings(timings&& other) noexcept : store_{other.store_} { other.store_ = nullptr; }
  timings& operator=(timings&& other) noexcept;
  // What is pending is forgotten; nobody waits.
  ~timings();

  // What is known now, names in the order of their first timers. Does not wait. What the work of a
  // section failed with is thrown, and that section forgotten. In a capture: allowed. cuEventQuery,
  // cuEventElapsedTime.
  [[nodiscard]] std::vector<timing> all(call_site at = call_site::current()) const;
  // Of one name; nothing if there was no timer of that name.
  [[nodiscard]] std::optional<timing> of(std::string_view name,
                                         call_site at = call_site::current()) const;

  // Waits until nothing is pending. What the work of a section failed with is thrown, and that
  // section forgotten; the others are still to be waited for. In a capture: as event_ref::sync().
  // cuEventSynchronize.
  void sync(call_site at = call_site::current()) const;

  // Forgets all times, and what is pending.
  void clear() noexcept;

 private:
  friend class timer;
  [[nodiscard]] detail::timing_store& store(const char* call, call_site at) const;
  detail::timing_store* store_;
};

// Times the work that a stream is given while it lives.
// In a capture of the stream: refused (stream_capture_unsupported), before the driver sees it; a
// captured event has no time. In a host function: refused. Thread safety: as any object. The stream
// has to live as long as it.
class WEIR_EXPORT timer {
 public:
  // The section begins here. cuStreamIsCapturing, cuCtxGetId, cuEventRecord, now and then
  // cuEventCreate.
  [[nodiscard]] timer(timings& into, std::string_view name, stream_ref stream,
                      call_site at = call_site::current());
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  // The section ends here if it has not before. What fails goes to set_unhandled_error_handler, and
  // the section is forgotten.
  ~timer();

  // Ends it now; does nothing a second time.
  void stop(call_site at = call_site::current());

  // Forgets it.
  void cancel() noexcept;

 private:
  detail::timing_store* store_;  // null when it is over
  stream_ref stream_;
  std::size_t name_;
  unsigned long long order_;
  CUevent_st* start_;
  CUctx_st* context_;
  unsigned long long context_id_;
};

}  // namespace weir
