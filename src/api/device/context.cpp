// SPDX-License-Identifier: Apache-2.0
// api/device/context.cpp - contexts: queries, ownership, and making one current.
#include <weir/detail/closed.hpp>
#include <weir/device/context.hpp>

#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/context_sync.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <utility>

namespace weir {
namespace {

CUctx_st* require_open(context_ref context, const char* call, call_site at) {
  const detail::subject object{context.get()};
  detail::require_open(object, call, at);
  if (!context) detail::throw_error(errc::invalid_context, call, object, at);
  return context.get();
}

}  // namespace

weir::device context_ref::device(call_site at) const {
  return weir::device{
      detail::context_info_of(require_open(*this, "cuCtxGetDevice", at), at).device};
}

void context_ref::sync(call_site at) const {
  CUctx_st* const context = require_open(*this, detail::context_sync_call, at);
  detail::require_outside_host_function(detail::context_sync_call, detail::subject{context}, at);
  detail::require_sync_allowed(detail::context_sync_call, at);
  detail::sync_context(context, at);
}

errc context_ref::status() const noexcept {
  if (const errc unusable = detail::check_open(handle_); unusable != errc::success) return unusable;
  const detail::driver_table* const driver = detail::try_driver();
  if (driver == nullptr) return errc::not_initialized;
  if (handle_ == nullptr) return errc::invalid_context;
  if (const abi::CUresult pushed = driver->cuCtxPushCurrent_v2(handle_);
      pushed != abi::CUDA_SUCCESS) {
    return static_cast<errc>(pushed);
  }
  // This query reports an earlier failure of the context. Its results are not used.
  std::size_t free = 0;
  std::size_t total = 0;
  const abi::CUresult answer = driver->cuMemGetInfo_v2(&free, &total);
  detail::pop_current();
  if (answer == abi::CUDA_ERROR_CONTEXT_IS_DESTROYED) detail::forget_reset_contexts();
  return static_cast<errc>(answer);
}

context_ref current_context(call_site at) {
  return context_ref{detail::current_context_handle(at)};
}

device current_device(call_site at) {
  const context_ref current = current_context(at);
  return current ? current.device(at) : device{0};
}

context::context(weir::device gpu, call_site at)
    : handle_{detail::closed_handle<CUctx_st>()}, device_{gpu} {
  abi::CUcontext retained = nullptr;
  detail::check(
      detail::driver(at).cuDevicePrimaryCtxRetain(&retained, detail::driver_device(gpu, at)),
      "cuDevicePrimaryCtxRetain", gpu, at);
  handle_ = retained;
}

context::context(context&& other) noexcept
    : handle_{std::exchange(other.handle_, detail::closed_handle<CUctx_st>())},
      device_{other.device_} {}

context& context::operator=(context&& other) noexcept {
  context replacement{std::move(other)};
  std::swap(handle_, replacement.handle_);
  std::swap(device_, replacement.device_);
  return *this;
}

context::~context() {
  if (closed()) return;
  // The driver's handle of a device is its ordinal. driver_device() could throw here.
  detail::run_or_defer([gpu = device_] {
    detail::report_if_failed(detail::driver().cuDevicePrimaryCtxRelease_v2(gpu.ordinal()),
                             "cuDevicePrimaryCtxRelease", gpu);
  });
}

void context::close(call_site at) {
  if (closed()) return;
  const abi::CUdevice handle = detail::driver_device(device_, at);
  handle_ = detail::closed_handle<CUctx_st>();
  detail::check(detail::driver().cuDevicePrimaryCtxRelease_v2(handle), "cuDevicePrimaryCtxRelease",
                device_, at);
}

bool context::closed() const noexcept { return handle_ == detail::closed_handle<CUctx_st>(); }
void context::sync(call_site at) const { context_ref{*this}.sync(at); }
errc context::status() const noexcept { return context_ref{*this}.status(); }

context_scope::context_scope(context_ref context, call_site at)
    : pushed_{detail::push_current(require_open(context, "cuCtxPushCurrent", at), at)} {}

context_scope::context_scope(weir::device gpu, call_site at)
    : context_scope{gpu.primary_context(at), at} {}

context_scope::~context_scope() {
  if (pushed_) detail::pop_current();
}

}  // namespace weir
