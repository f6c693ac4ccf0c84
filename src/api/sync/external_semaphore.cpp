// SPDX-License-Identifier: Apache-2.0
// api/sync/external_semaphore.cpp - imported semaphores.
#include <weir/sync/external_semaphore.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/duplicated_descriptor.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace weir {
namespace {

using detail::check;
using detail::driver;

// Imports the semaphore from `duplicate`. On success the driver owns the descriptor, and the caller
// must call release_to_driver().
abi::CUexternalSemaphore import_semaphore(device gpu, semaphore_kind kind,
                                          detail::duplicated_descriptor& duplicate, call_site at) {
  constexpr const char* call = "cuImportExternalSemaphore";
  detail::require_outside_host_function(call, gpu, at);
  abi::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
  desc.type = kind == semaphore_kind::timeline
                  ? abi::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
                  : abi::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  desc.handle.fd = duplicate.get();
  const detail::make_current current{detail::primary_context(gpu, at), at};
  const detail::relaxed_capture_mode guard{at};
  abi::CUexternalSemaphore semaphore = nullptr;
  check(driver().cuImportExternalSemaphore(&semaphore, &desc), call, gpu, at);
  return semaphore;
}

abi::CUexternalSemaphore require_open(abi::CUexternalSemaphore semaphore, const char* call,
                                      stream_ref stream, call_site at) {
  if (semaphore == detail::closed_handle<CUextSemaphore_st>()) {
    detail::throw_error(
        errc::closed, call, "an external semaphore",
        "the external semaphore was closed or moved from; keep it open while it is used", at);
  }
  detail::require_open(stream, call, at);
  return semaphore;
}

}  // namespace

external_semaphore::external_semaphore(device gpu, semaphore_kind kind, int fd, call_site at) {
  detail::duplicated_descriptor duplicate{fd};
  handle_ = import_semaphore(gpu, kind, duplicate, at);
  // The driver owns the duplicate, so the original is no longer needed.
  if (duplicate.release_to_driver()) ::close(fd);
}

external_semaphore::external_semaphore(device gpu, const shared_semaphore& shared, call_site at) {
  const semaphore_kind kind = shared.kind(at);
  detail::duplicated_descriptor duplicate{shared.fd()};
  // If duplication fails, get() returns the original, which the driver must not own.
  if (duplicate.get() == shared.fd()) {
    detail::throw_error(errc::operating_system, "fcntl", "a shared semaphore",
                        std::generic_category().message(errno), at);
  }
  handle_ = import_semaphore(gpu, kind, duplicate, at);
  duplicate.release_to_driver();  // `shared` keeps its own descriptor
}

external_semaphore::external_semaphore(external_semaphore&& other) noexcept
    : handle_{std::exchange(other.handle_, detail::closed_handle<CUextSemaphore_st>())} {}

external_semaphore& external_semaphore::operator=(external_semaphore&& other) noexcept {
  external_semaphore replacement{std::move(other)};
  std::swap(handle_, replacement.handle_);
  return *this;
}

external_semaphore::~external_semaphore() {
  if (closed()) return;
  detail::run_or_defer([semaphore = handle_] {
    detail::first_failure failure;
    const detail::relaxed_capture_mode guard{failure};
    failure.note(driver().cuDestroyExternalSemaphore(semaphore), "cuDestroyExternalSemaphore");
    detail::report_if_failed(failure, {});
  });
}

void external_semaphore::close(call_site at) {
  if (closed()) return;
  detail::require_outside_host_function("cuDestroyExternalSemaphore", {}, at);
  const detail::relaxed_capture_mode guard{at};
  const abi::CUexternalSemaphore semaphore =
      std::exchange(handle_, detail::closed_handle<CUextSemaphore_st>());
  check(driver().cuDestroyExternalSemaphore(semaphore), "cuDestroyExternalSemaphore", {}, at);
}

bool external_semaphore::closed() const noexcept {
  return handle_ == detail::closed_handle<CUextSemaphore_st>();
}

void external_semaphore::signal(stream_ref stream, unsigned long long value, call_site at) const {
  constexpr const char* call = "cuSignalExternalSemaphoresAsync";
  const abi::CUexternalSemaphore semaphore = require_open(handle_, call, stream, at);
  abi::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS params{};
  params.params.fence.value = value;
  check(driver().cuSignalExternalSemaphoresAsync(&semaphore, &params, 1, stream.get()), call,
        stream, at);
}

void external_semaphore::wait(stream_ref stream, unsigned long long value, call_site at) const {
  constexpr const char* call = "cuWaitExternalSemaphoresAsync";
  const abi::CUexternalSemaphore semaphore = require_open(handle_, call, stream, at);
  abi::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS params{};
  params.params.fence.value = value;
  check(driver().cuWaitExternalSemaphoresAsync(&semaphore, &params, 1, stream.get()), call, stream,
        at);
}

}  // namespace weir
