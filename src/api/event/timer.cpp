// SPDX-License-Identifier: Apache-2.0
// api/event/timer.cpp - timers and the timings that they collect.
#include <weir/core/to_string.hpp>
#include <weir/event/timer.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/core/check.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/event/timing_store.hpp"
#include "api/stream/stream_state.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace weir {
namespace {

// A captured event has no time, so a timed section can neither begin nor end in a capture.
void throw_if_capturing(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::timer";
  const abi::CUstreamCaptureStatus status =
      detail::query_capture_status(detail::require_open(stream, call, at), at);
  if (status == abi::CU_STREAM_CAPTURE_STATUS_NONE) return;
  if (status == abi::CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    detail::throw_error(errc::stream_capture_invalidated, call, stream, at);
  detail::throw_error(errc::stream_capture_unsupported, call, to_string(stream),
                      "a captured section has no time; time the launch of the graph, or record "
                      "timed events in the capture with weir::external",
                      at);
}

// Takes a timed event of the stream's context and records it in the stream.
abi::CUevent record(detail::timing_store& store, stream_ref stream, abi::CUcontext context,
                    unsigned long long context_id, call_site at) {
  const abi::CUevent event = store.acquire_event(context, context_id, at);
  try {
    stream.record(event_ref{event}, at);
  } catch (...) {
    detail::timing_store::release_event(context_id, event);
    throw;
  }
  return event;
}

}  // namespace

timings::timings() : store_{detail::make_timing_store()} {}

const std::shared_ptr<detail::timing_store>& timings::store(const char* call, call_site at) const {
  detail::require_outside_host_function(call, {}, at);
  if (store_ == nullptr) detail::throw_error(errc::closed, call, {}, at);
  return store_;
}

std::vector<timing> timings::all(call_site at) const {
  detail::timing_store& records = *store("weir::timings::all", at);
  records.collect(at);
  return records.all();
}

std::optional<timing> timings::find(std::string_view name, call_site at) const {
  std::vector<timing> known = all(at);
  const auto found = std::ranges::find(known, name, &timing::name);
  if (found == known.end()) return std::nullopt;
  return std::move(*found);
}

void timings::sync(call_site at) const { store("weir::timings::sync", at)->sync(at); }

void timings::clear() noexcept {
  if (store_ != nullptr) store_->clear();
}

timer::timer(timings& into, std::string_view name, stream_ref stream, call_site at)
    : store_{into.store("weir::timer", at)}, stream_{stream} {
  throw_if_capturing(stream, at);
  context_ = detail::context_of(stream.get(), at);
  context_id_ = detail::context_id_of(context_, at);
  name_ = store_->index_of(name);
  order_ = store_->next_order();
  start_ = record(*store_, stream, context_, context_id_, at);
}

timer::~timer() {
  if (store_ == nullptr) return;
  try {
    stop(call_site{});
  } catch (...) {
    detail::call_unhandled_error_handler(std::current_exception());
  }
}

void timer::stop(call_site at) {
  if (store_ == nullptr) return;
  try {
    throw_if_capturing(stream_, at);
    const abi::CUevent end = record(*store_, stream_, context_, context_id_, at);
    try {
      store_->add({name_, order_, context_id_, start_, end});
    } catch (...) {
      detail::timing_store::release_event(context_id_, end);
      throw;
    }
  } catch (...) {
    cancel();
    throw;
  }
  store_.reset();
}

void timer::cancel() noexcept {
  if (store_ == nullptr) return;
  detail::timing_store::release_event(context_id_, start_);
  store_.reset();
}

}  // namespace weir
