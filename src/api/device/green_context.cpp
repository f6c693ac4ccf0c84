// SPDX-License-Identifier: Apache-2.0
// api/device/green_context.cpp - green contexts: a device's multiprocessors, divided.
#include <weir/device/green_context.hpp>

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/core/check.hpp"
#include "api/device/green_state.hpp"
#include "api/device/primary_context.hpp"
#include "api/stream/stream_state.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>

namespace weir {
namespace {

using detail::check;
using detail::driver;

constexpr auto sm = abi::CU_DEV_RESOURCE_TYPE_SM;

unsigned flags_of(sm_split_options options) noexcept {
  return (options.ignore_sm_coscheduling ? abi::CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING
                                         : 0u) |
         (options.max_potential_cluster_size
              ? abi::CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE
              : 0u);
}

// Destroys a green context that has no owner yet.
struct green_delete {
  void operator()(CUgreenCtx_st* green) const noexcept {
    detail::report_if_failed(driver().cuGreenCtxDestroy(green), "cuGreenCtxDestroy", {});
  }
};

}  // namespace

void detail::green_state_deleter::operator()(green_state* state) const noexcept {
  state->release_noexcept();
}

sm_resource::sm_resource(weir::device gpu, const void* resource) noexcept : device_{gpu} {
  std::memcpy(resource_, resource, sizeof resource_);
  const auto parsed = std::bit_cast<abi::CUdevResource>(resource_);
  if (parsed.type != sm) return;
  count_ = parsed.sm.smCount;
  min_partition_size_ = parsed.sm.minSmPartitionSize;
  coscheduled_alignment_ = parsed.sm.smCoscheduledAlignment;
}

sm_resource sm_resource::query(weir::device gpu, call_site at) {
  abi::CUdevResource found{};
  check(driver().cuDeviceGetDevResource(detail::driver_device(gpu, at), &found, sm),
        "cuDeviceGetDevResource", gpu, at);
  return sm_resource{gpu, &found};
}

sm_resource sm_resource::query(context_ref context, call_site at) {
  const weir::device gpu = context.device(at);
  abi::CUdevResource found{};
  check(driver().cuCtxGetDevResource(context.get(), &found, sm), "cuCtxGetDevResource",
        detail::subject{context.get()}, at);
  return sm_resource{gpu, &found};
}

sm_resource sm_resource::query(stream_ref stream, call_site at) {
  return query(stream.context(at), at);
}

sm_split sm_resource::split(unsigned groups, unsigned min_count, sm_split_options options,
                            call_site at) const {
  constexpr const char* call = "cuDevSmResourceSplitByCount";
  detail::require_outside_host_function(call, device_, at);
  const auto whole = std::bit_cast<abi::CUdevResource>(resource_);
  // There cannot be more groups than multiprocessors. The driver reports the error for a resource
  // without any.
  unsigned count = std::min(groups, std::max(count_, 1u));
  // Never an empty array, whose null pointer would only query the count.
  std::vector<abi::CUdevResource> parts(std::max(count, 1u));
  abi::CUdevResource remainder{};
  check(driver().cuDevSmResourceSplitByCount(parts.data(), &count, &whole, &remainder,
                                             flags_of(options), min_count),
        call, device_, at);
  sm_split result{{}, sm_resource{device_, &remainder}};
  result.groups.reserve(count);
  for (unsigned i = 0; i < count; ++i) result.groups.push_back(sm_resource{device_, &parts[i]});
  return result;
}

unsigned sm_resource::group_count(unsigned min_count, sm_split_options options,
                                  call_site at) const {
  constexpr const char* call = "cuDevSmResourceSplitByCount";
  detail::require_outside_host_function(call, device_, at);
  const auto whole = std::bit_cast<abi::CUdevResource>(resource_);
  unsigned count = 0;
  check(driver().cuDevSmResourceSplitByCount(nullptr, &count, &whole, nullptr, flags_of(options),
                                             min_count),
        call, device_, at);
  return count;
}

green_context::green_context(const sm_resource& part, call_site at)
    : green_context{std::span{&part, 1}, at} {}

green_context::green_context(std::span<const sm_resource> parts, call_site at) {
  if (parts.empty()) {
    detail::throw_error(errc::invalid_value, "cuDevResourceGenerateDesc", "a green context",
                        "the list of parts is empty; pass at least one part of a device", at);
  }
  const weir::device gpu = parts.front().device();
  const abi::CUdevice driver_ordinal = detail::driver_device(gpu, at);
  // Retains the primary context of the device. Otherwise the driver would create and destroy it
  // with the green context. That is slow, and would destroy objects that other code created in it.
  static_cast<void>(detail::primary_context(gpu, at));
  std::vector<abi::CUdevResource> resources;
  for (const sm_resource& part : parts)
    resources.push_back(std::bit_cast<abi::CUdevResource>(part.resource_));

  abi::CUdevResourceDesc desc = nullptr;
  check(driver().cuDevResourceGenerateDesc(&desc, resources.data(),
                                           static_cast<unsigned>(resources.size())),
        "cuDevResourceGenerateDesc", gpu, at);
  abi::CUgreenCtx green = nullptr;
  check(driver().cuGreenCtxCreate(&green, desc, driver_ordinal, abi::CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate", gpu, at);
  std::unique_ptr<CUgreenCtx_st, green_delete> owned{green};
  abi::CUcontext as_context = nullptr;
  check(driver().cuCtxFromGreenCtx(&as_context, green), "cuCtxFromGreenCtx", gpu, at);
  state_.reset(new detail::green_state{green, as_context, gpu.ordinal()});
  static_cast<void>(owned.release());
}

void green_context::close(call_site at) {
  if (closed()) return;
  const detail::subject object{state_->context};
  detail::require_outside_host_function("cuGreenCtxDestroy", object, at);
  const errc answer = state_.release()->release();
  if (answer != errc::success) detail::throw_error(answer, "cuGreenCtxDestroy", object, at);
}

detail::green_state& green_context::open_state(const char* call, call_site at) const {
  detail::require_outside_host_function(call, {}, at);
  if (closed())
    detail::throw_error(errc::closed, call, "a green context",
                        "the green context was closed or moved from; keep it open while it is used",
                        at);
  return *state_;
}

context_ref green_context::context(call_site at) const {
  return context_ref{open_state("weir::green_context::context", at).context};
}

weir::device green_context::device(call_site at) const {
  return weir::device{open_state("weir::green_context::device", at).device};
}

sm_resource green_context::multiprocessors(call_site at) const {
  const detail::green_state& open = open_state("cuGreenCtxGetDevResource", at);
  abi::CUdevResource found{};
  check(driver().cuGreenCtxGetDevResource(open.handle, &found, sm), "cuGreenCtxGetDevResource",
        detail::subject{open.context}, at);
  return sm_resource{weir::device{open.device}, &found};
}

void green_context::record(event_ref event, call_site at) const {
  constexpr const char* call = "cuGreenCtxRecordEvent";
  const detail::green_state& open = open_state(call, at);
  const std::unique_lock<std::mutex> lock = detail::lock_capture_begin();
  if (detail::any_capture_active()) detail::throw_if_context_captured(open.context, call, at);
  check(driver().cuGreenCtxRecordEvent(open.handle, detail::require_open(event, call, at)), call,
        detail::subject{open.context}, at);
  // An earlier record of the event may be part of a capture; the new one is not.
  if (detail::any_capture_active()) detail::untrack_event(event.get());
}

void green_context::wait(event_ref event, call_site at) const {
  constexpr const char* call = "cuGreenCtxWaitEvent";
  const detail::green_state& open = open_state(call, at);
  const std::unique_lock<std::mutex> lock = detail::lock_capture_begin();
  if (detail::any_capture_active()) detail::throw_if_context_captured(open.context, call, at);
  check(driver().cuGreenCtxWaitEvent(open.handle, detail::require_open(event, call, at)), call,
        detail::subject{open.context}, at);
}

CUgreenCtx_st* green_context::get() const noexcept {
  return state_ == nullptr ? nullptr : state_->handle;
}

}  // namespace weir
