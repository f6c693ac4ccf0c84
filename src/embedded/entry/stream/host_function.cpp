// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/host_function.cpp - cuLaunchHostFunc and cuStreamAddCallback: host
// functions in stream order.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  return guarded([&](model::process& p) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(p, stream, found)) return error;
    return found->submit(model::host_work{function, user_data});
  });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* user_data,
                             unsigned flags) {
  return guarded([&](model::process& p) {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(p, stream, found)) return error;
    if (const CUresult error = model::check_not_capturing(*found)) return error;
    found->submit(engine::make_unconditional_operation(
        model::callback_work{callback, stream, user_data}, engine::operation_kind::host));
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
