// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/host_function.cpp - cuLaunchHostFunc and cuStreamAddCallback: host
// functions in stream order.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  return guarded([&](model::process& p) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS)
      return status;
    return found->submit(model::host_work{function, user_data});
  });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* user_data,
                             unsigned flags) {
  return guarded([&](model::process& p) -> CUresult {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_not_capturing(*found); status != CUDA_SUCCESS)
      return status;
    found->submit(engine::make_operation(model::callback_work{callback, stream, user_data},
                                         engine::operation_kind::host, true));
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
