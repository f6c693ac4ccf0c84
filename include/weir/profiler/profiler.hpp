// weir/profiler/profiler.hpp - telling a profiler which part of a program to record.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

namespace weir {

// Begins and ends what a profiler that was told to wait for it records (`nsys profile
// --capture-range=cudaProfilerApi`, `ncu --profile-from-start off`). Without a profiler they do
// nothing. They do not nest: the first stop ends the recording, and starting twice is as good as
// once. Thread safety: from any thread, for the whole process. In a host function: refused. In a
// capture: allowed, in whatever thread, and no part of it. cuProfilerStart, cuProfilerStop, in the
// primary context of the device.
WEIR_EXPORT void start_profiler(device gpu = device{}, call_site at = call_site::current());
WEIR_EXPORT void stop_profiler(device gpu = device{}, call_site at = call_site::current());

// Records while it exists. What is still queued at its end may be missing in the recording: sync()
// the streams first.
class WEIR_EXPORT profiler_scope {
 public:
  explicit profiler_scope(device gpu = device{}, call_site at = call_site::current());
  profiler_scope(const profiler_scope&) = delete;
  profiler_scope& operator=(const profiler_scope&) = delete;
  // What fails goes to set_unhandled_error_handler. In host functions the recording is ended later,
  // by another thread.
  ~profiler_scope();

 private:
  CUctx_st* context_;
};

}  // namespace weir
