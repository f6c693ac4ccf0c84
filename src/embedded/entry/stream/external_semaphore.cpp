// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/external_semaphore.cpp - external semaphores: imported, signalled and
// awaited in streams, destroyed.
#include "embedded/model/ipc/external_semaphore.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace weir::embedded::entry {

using weir::os::semaphore_page;

namespace {

// Collects the semaphores of a call and their values, so that all of them are checked before any is
// used.
template <class Params>
CUresult collect_uses(const CUexternalSemaphore* semaphores, const Params* params, unsigned count,
                      std::vector<model::semaphore_use>& out) {
  if (count == 0 || semaphores == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    if (semaphores[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<semaphore_page> page = model::external_semaphore::find(semaphores[i]);
    if (!page) return CUDA_ERROR_INVALID_HANDLE;
    if (params[i].flags != 0)
      // All existing flags apply only to kinds of semaphores that cannot be imported here.
      return CUDA_ERROR_INVALID_VALUE;
    out.push_back({std::move(page), params[i].params.fence.value});
  }
  return CUDA_SUCCESS;
}

// Submits signals or waits. Returns CUDA_ERROR_NOT_SUPPORTED in a capture, because graphs have no
// semaphore nodes here; the capture stays valid.
template <class Params, class Submit>
CUresult submit_uses(const CUexternalSemaphore* semaphores, const Params* params, unsigned count,
                     CUstream stream, Submit submit) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    std::vector<model::semaphore_use> uses;
    if (const CUresult error = collect_uses(semaphores, params, count, uses)) return error;
    if (found.capture() != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    submit(found, std::move(uses));
    return CUDA_SUCCESS;
  }));
}

}  // namespace

// Imports semaphores that are named by file descriptors, the only kinds on Linux. On success, the
// driver takes ownership of the descriptor.
CUresult cuImportExternalSemaphore(CUexternalSemaphore* semaphore,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
  return guarded_in_context_outside_captures([&](model::context&) {
    if (semaphore == nullptr || desc == nullptr || desc->flags != 0 ||
        !are_all_zero(desc->reserved))
      return CUDA_ERROR_INVALID_VALUE;
    const bool timeline = desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    if (!timeline && desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
      return CUDA_ERROR_INVALID_VALUE;
    // As on an H200, open() refuses it for a binary semaphore, with another error.
    if (timeline && desc->handle.fd < 0) return CUDA_ERROR_INVALID_VALUE;
    const std::uint32_t kind = timeline ? semaphore_page::timeline : semaphore_page::binary;
    auto& table = model::this_process().external_semaphores;
    return open_object(table, semaphore, [&](model::external_semaphore& created) {
      return created.open(desc->handle.fd, kind) ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    });
  });
}

// Signals and waits that were submitted before this call still run.
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore) {
  return guarded_outside_captures([&] {
    if (semaphore == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto& table = model::this_process().external_semaphores;
    model::external_semaphore* const found = table.find(semaphore);
    if (found == nullptr || !table.retire(found, semaphore)) return CUDA_ERROR_INVALID_HANDLE;
    found->close();
    return CUDA_SUCCESS;
  });
}

CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore* semaphores,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* params,
                                         unsigned count, CUstream stream) {
  return submit_uses(semaphores, params, count, stream, &model::submit_signals);
}

CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore* semaphores,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* params,
                                       unsigned count, CUstream stream) {
  return submit_uses(semaphores, params, count, stream, &model::submit_waits);
}

// Both return CUDA_ERROR_NOT_SUPPORTED, because graphs have no semaphore nodes here.
CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace weir::embedded::entry
