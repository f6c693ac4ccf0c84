// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_participant.cpp - tracks captures that were started directly through the
// driver.
#include <weir/capture/capture_participant.hpp>
#include <weir/core/to_string.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/stream/host_failures.hpp"

#include <memory>
#include <utility>

namespace weir {

using detail::capture_registry;
using detail::throw_error;

capture_participant::capture_participant(stream_ref stream, call_site at)
    : stream_{stream}, graph_{nullptr}, id_{0} {
  constexpr const char* call = "weir::capture_participant";
  CUstream_st* const handle = detail::require_open(stream, call, at);
  const detail::stream_capture_info info = detail::query_capture(handle, at);
  if (info.status == abi::CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    throw_error(errc::stream_capture_invalidated, call, stream, at);
  }
  if (info.status == abi::CU_STREAM_CAPTURE_STATUS_NONE) {
    throw_error(errc::illegal_state, call, to_string(stream),
                "the stream is not capturing, so there is no capture to take part in; check "
                "capture_status_of() first",
                at);
  }
  id_ = info.id;
  graph_ = graph_ref{info.graph};
  is_registered_ = capture_registry::instance().add_participant(id_);
  if (is_registered_) return;
  auto record = std::make_unique<detail::capture_record>(handle);
  capture_registry::instance().reserve();
  detail::active_capture& capture = record->capture;
  capture.origin = handle;
  capture.id = id_;
  capture.graph = info.graph;
  capture.context = detail::context_of(handle, at);
  capture.options.mode = capture_mode::global;  // the driver does not report the mode
  capture.scoped = true;
  capture.external = true;
  capture.begun_at = at;
  capture.thread = detail::unique_thread_id();
  capture.system_thread_id = detail::system_thread_id();
  capture_registry::instance().add_participant(record);
  is_registered_ = true;
}

capture_participant::~capture_participant() {
  if (is_registered_ && !detail::in_forked_child())
    capture_registry::instance().remove_participant(id_);
}

}  // namespace weir
