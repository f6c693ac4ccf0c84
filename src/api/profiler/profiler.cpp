// SPDX-License-Identifier: Apache-2.0
// api/profiler/profiler.cpp - selects the part of a program that a profiler records.
#include <weir/profiler/profiler.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

namespace weir {
namespace {

CUctx_st* context_for(device gpu, const char* call, call_site at) {
  detail::require_outside_host_function(call, gpu, at);
  return detail::primary_context(gpu, at);
}

}  // namespace

void start_profiler(device gpu, call_site at) {
  const detail::make_current current{context_for(gpu, "cuProfilerStart", at), at};
  const detail::relaxed_capture_mode guard{at};
  detail::check(detail::driver().cuProfilerStart(), "cuProfilerStart", gpu, at);
}

void stop_profiler(device gpu, call_site at) {
  const detail::make_current current{context_for(gpu, "cuProfilerStop", at), at};
  const detail::relaxed_capture_mode guard{at};
  detail::check(detail::driver().cuProfilerStop(), "cuProfilerStop", gpu, at);
}

profiler_scope::profiler_scope(device gpu, call_site at)
    : context_{context_for(gpu, "cuProfilerStart", at)} {
  start_profiler(gpu, at);
}

profiler_scope::~profiler_scope() {
  detail::destroy_or_defer([context = context_]() noexcept {
    detail::first_failure failure;
    detail::call_in_context(context, failure, [&] {
      const detail::relaxed_capture_mode guard{failure};
      failure.note(detail::driver().cuProfilerStop(), "cuProfilerStop");
    });
    detail::report_if_failed(failure, detail::subject{context});
  });
}

}  // namespace weir
