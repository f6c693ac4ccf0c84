// SPDX-License-Identifier: Apache-2.0
// weir/profiler/profiler.hpp - selects the part of a program that a profiler records.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

namespace weir {

/// Starts the recording of a profiler that was configured to wait for this (`nsys profile
/// --capture-range=cudaProfilerApi`, `ncu --profile-from-start off`). Does nothing without a
/// profiler, or if the recording has started already. Applies to the whole process, in the primary
/// context of the device.
///
/// In a capture: allowed on any thread; it is not captured.
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called from any thread.
/// Driver: cuProfilerStart.
WEIR_EXPORT void start_profiler(device gpu = device{}, call_site at = call_site::current());
/// Stops the recording of a profiler. Calls do not nest: the first stop ends the recording. Does
/// nothing without a profiler. Applies to the whole process, in the primary context of the device.
///
/// In a capture: allowed on any thread; it is not captured.
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called from any thread.
/// Driver: cuProfilerStop.
WEIR_EXPORT void stop_profiler(device gpu = device{}, call_site at = call_site::current());

/// Makes a profiler record while this object exists. Work that is still queued at the end may be
/// missing in the recording: sync() the streams before.
class WEIR_EXPORT profiler_scope {
 public:
  /// Starts the recording, as start_profiler() does.
  explicit profiler_scope(device gpu = device{}, call_site at = call_site::current());
  profiler_scope(const profiler_scope&) = delete;
  profiler_scope& operator=(const profiler_scope&) = delete;
  /// Stops the recording. Errors go to set_unhandled_error_handler. In a host function, another
  /// thread stops the recording afterwards.
  ~profiler_scope();

 private:
  CUctx_st* context_;
};

}  // namespace weir
