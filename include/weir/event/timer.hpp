// SPDX-License-Identifier: Apache-2.0
// weir/event/timer.hpp - timers, which measure how long named sections of a stream's work take. For
// the time between two events, use elapsed() (weir/event/event.hpp).
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace detail {
class timing_store;
}

/// The measurements of all sections with one name, in milliseconds. A section is the work that is
/// queued in a stream during the lifetime of a timer.
struct timing {
  std::string name;
  std::size_t count = 0;  ///< number of finished sections; the next four members cover these
  double total = 0;
  double min = 0;
  double max = 0;
  double last = 0;  ///< time of the finished section that began last
  /// Number of sections whose timer has ended, but whose work the stream has not finished yet.
  std::size_t pending = 0;
  /// Returns the average; 0 if there is no measurement.
  [[nodiscard]] double mean() const noexcept {
    return count == 0 ? 0 : total / static_cast<double>(count);
  }
};

/// Collects the times of sections by name.
///
///   weir::timings times;
///   {
///     weir::timer t{times, "upload", s};
///     weir::copy(s, host, x);
///   }
///   times.sync();
///   double ms = times.find("upload")->mean();
///
/// A time is measured between two points of a stream. It includes the work of the section, and
/// everything that delayed that work. Work of other streams on the device lengthens it. On a
/// blocking stream, work of the default stream may run in between. The time from queueing to the
/// start is not included.
///
/// Move-only. A timer may outlive this object, because it shares the contents. The contents keep
/// alive each green context with a measured stream. The caller has to keep alive contexts that weir
/// did not create.
///
/// Thread safety: all members may be called from any thread.
/// Cost: each section records two timed events, 1.4 us of host time and 2 us of GPU time each on an
/// H200. Events are reused. Nothing waits until sync().
class WEIR_EXPORT timings {
 public:
  /// Creates an empty collection.
  timings();
  timings(timings&&) noexcept = default;
  timings& operator=(timings&&) noexcept = default;
  /// Discards pending sections without waiting.
  ~timings() = default;

  /// Returns all names in the order of their first timers, with the sections that have finished.
  /// Does not wait.
  ///
  /// Throws: the error of a section whose work failed. That section is discarded, so the next call
  /// does not throw its error again.
  /// In a capture: allowed.
  /// Driver: cuEventQuery, cuEventElapsedTime.
  [[nodiscard]] std::vector<timing> all(call_site at = call_site::current()) const;
  /// Returns the timing of one name, or nothing if no timer had that name. Does not wait.
  ///
  /// Throws: the error of a section whose work failed. That section is discarded, so the next call
  /// does not throw its error again.
  /// In a capture: allowed.
  /// Driver: cuEventQuery, cuEventElapsedTime.
  [[nodiscard]] std::optional<timing> find(std::string_view name,
                                           call_site at = call_site::current()) const;

  /// Blocks until no section is pending.
  ///
  /// Throws: the error of a section whose work failed. That section is discarded; other sections
  /// may still be pending.
  /// In a capture: as event_ref::sync().
  /// Driver: cuEventSynchronize.
  void sync(call_site at = call_site::current()) const;

  /// Discards all times and all pending sections.
  void clear() noexcept;

 private:
  friend class timer;
  [[nodiscard]] const std::shared_ptr<detail::timing_store>& store(const char* call,
                                                                   call_site at) const;
  std::shared_ptr<detail::timing_store> store_;
};

/// Measures the work that is queued in a stream during its lifetime. The stream must outlive the
/// timer.
///
/// In a capture: throws `stream_capture_unsupported` before the driver is called, because a
/// captured event has no time.
/// In a host function: throws `not_permitted`.
/// Thread safety: needs external synchronisation.
class WEIR_EXPORT timer {
 public:
  /// Begins a section.
  ///
  /// Driver: cuStreamIsCapturing, cuCtxGetId, cuEventRecord, sometimes cuEventCreate.
  [[nodiscard]] timer(timings& results, std::string_view name, stream_ref stream,
                      call_site at = call_site::current());
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;
  /// Ends the section if stop() or cancel() was not called. If that fails, the error goes to
  /// set_unhandled_error_handler and the section is discarded.
  ~timer();

  /// Ends the section now. Does nothing if the section has ended already. If this fails, the
  /// section is discarded.
  void stop(call_site at = call_site::current());

  /// Discards the section. Does nothing if the section has ended already.
  void cancel() noexcept;

 private:
  std::shared_ptr<detail::timing_store> store_;  ///< null if the section has ended
  stream_ref stream_;
  std::size_t name_;          ///< index of the name in the store
  unsigned long long order_;  ///< number of the section in the store, in the order of the begins
  CUevent_st* start_;         ///< recorded by the constructor
  CUctx_st* context_;
  unsigned long long context_id_;
};

}  // namespace weir
