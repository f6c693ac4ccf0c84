// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_participant.cpp - tracks captures that were started directly through the
// driver.
#include <weir/capture/capture_participant.hpp>

#include "api/capture/capture_registry.hpp"

#include <memory>

namespace weir {

using detail::capture_registry;

capture_participant::capture_participant(stream_ref stream, call_site at)
    : stream_{stream}, graph_{nullptr}, id_{0} {
  constexpr const char* call = "weir::capture_participant";
  const char* const hint =
      "the stream is not capturing, so there is no capture to take part in; check "
      "capture_status_of() first";
  const detail::stream_capture_info info = detail::require_capturing(stream, call, hint, at);
  id_ = info.id;
  graph_ = graph_ref{info.graph};
  if (capture_registry::instance().add_participant(id_)) return;
  // Other code started the capture, and no other participant has added a record.
  capture_registry::records single;
  single.push_back(std::make_unique<detail::capture_record>(stream.get(), at));
  detail::active_capture& capture = single.front()->capture;
  capture.id = id_;
  capture.graph = info.graph;
  capture.options.mode = capture_mode::global;  // the strictest: the driver does not report it
  capture.end = detail::capture_end::external;
  capture_registry::instance().add_participant(single);
}

capture_participant::~capture_participant() {
  if (!os::in_forked_child()) capture_registry::instance().remove_participant(id_);
}

}  // namespace weir
