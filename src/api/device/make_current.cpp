// SPDX-License-Identifier: Apache-2.0
// api/device/make_current.cpp - makes a context current for a few calls.
#include "api/device/make_current.hpp"

#include "api/core/check.hpp"

namespace weir::detail {

CUcontext current_context_handle(call_site at) {
  require_outside_host_function("cuCtxGetCurrent", {}, at);
  CUcontext current = nullptr;
  check(driver(at).cuCtxGetCurrent(&current), "cuCtxGetCurrent", {}, at);
  return current;
}

bool push_current(CUcontext context, call_site at) {
  if (current_context_handle(at) == context) return false;
  check(driver().cuCtxPushCurrent_v2(context), "cuCtxPushCurrent", subject{context}, at);
  return true;
}

void pop_current() noexcept {
  CUcontext popped = nullptr;
  report_if_failed(driver().cuCtxPopCurrent_v2(&popped), "cuCtxPopCurrent", {});
}

}  // namespace weir::detail
