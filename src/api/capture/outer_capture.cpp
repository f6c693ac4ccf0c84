// api/capture/outer_capture.cpp - captures of others, known for as long as somebody takes part in them.
#include <weir/capture/outer_capture.hpp>
#include <weir/core/to_string.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/stream/host_failures.hpp"

#include <memory>
#include <utility>

namespace weir {

using detail::capture_registry;
using detail::fail;

outer_capture::outer_capture(stream_ref stream, call_site at) : stream_{stream}, graph_{nullptr}, id_{0} {
  constexpr const char* call = "weir::outer_capture";
  CUstream_st* const handle = detail::usable(stream, call, at);
  const detail::capture_part part = detail::capture_part_of(handle, at);
  if (part.status == abi::CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    fail(errc::stream_capture_invalidated, call, stream, at);
  }
  if (part.status == abi::CU_STREAM_CAPTURE_STATUS_NONE) {
    fail(errc::illegal_state, call, to_string(stream), "there is no capture to take part in; ask capture_status_of()",
         at);
  }
  id_ = part.id;
  graph_ = graph_ref{part.graph};
  entered_ = capture_registry::instance().enter(id_);
  if (entered_) return;
  auto record = std::make_unique<detail::capture_record>(handle);
  capture_registry::instance().reserve();
  detail::open_capture& what = record->what;
  what.origin = handle;
  what.id = id_;
  what.graph = part.graph;
  what.context = detail::context_of(handle, at);
  what.options.mode = capture_mode::global;  // the driver does not tell
  what.scoped = true;
  what.entered = true;
  what.began = at;
  what.thread = detail::thread_number();
  what.thread_id = detail::thread_id();
  capture_registry::instance().enter(record);
  entered_ = true;
}

outer_capture::~outer_capture() {
  if (entered_ && !detail::in_forked_child()) capture_registry::instance().let_go(id_);
}

}  // namespace weir
