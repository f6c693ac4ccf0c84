// SPDX-License-Identifier: Apache-2.0
// embedded/entry/profiler.cpp - cuProfilerStart and cuProfilerStop. There is no profiler to notify,
// so they only check.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

CUresult cuProfilerStart() {
  return guarded_outside_captures([](model::process&) -> CUresult {
    model::context* context = nullptr;
    return current_context(context);
  });
}

CUresult cuProfilerStop() { return cuProfilerStart(); }

}  // namespace weir::embedded::entry
