// SPDX-License-Identifier: Apache-2.0
// embedded/entry/initialization.cpp - cuInit, cuDriverGetVersion, cuGetError*, cuProfiler*.
#include <cstdlib>

#include "driver/results.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/proc_table.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::entry {

namespace {

using detail::result_text;

// Stores a text about a result code: its name or its description. Stores null and returns
// CUDA_ERROR_INVALID_VALUE for an unknown result code.
CUresult describe(CUresult result, const char* result_text::*member, const char** out) noexcept {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = detail::known_result_text_of(result).*member;
  return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

// Only the drop-in obeys CUDA_VISIBLE_DEVICES, which belongs to the driver that it stands for. A
// program that chooses the embedded driver itself may have set the variable to hide GPUs.
CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const char* const visible = is_dropin() ? std::getenv("CUDA_VISIBLE_DEVICES") : nullptr;
  return catch_exceptions([&] { return model::this_process().initialise(visible); });
}

CUresult cuDriverGetVersion(int* version) { return store(version, CUDA_VERSION); }

CUresult cuGetErrorName(CUresult error, const char** text) {
  return describe(error, &result_text::name, text);
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return describe(error, &result_text::text, text);
}

// There is no profiler to notify, so these functions only check the state of the calling thread.
CUresult cuProfilerStart() {
  return guarded_outside_captures(
      with_current_context([](model::context&) { return CUDA_SUCCESS; }));
}

CUresult cuProfilerStop() { return cuProfilerStart(); }

}  // namespace weir::embedded::entry
