// api/capture/capture.cpp - captures as the program sees them.
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>

#include "api/capture/capture_registry.hpp"
#include "api/capture/captures.hpp"
#include "api/device/green_state.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::usable;

namespace {

// A green context that lives as long as a graph of its streams, and whatever is made of that, needs it.
class green_share {
 public:
  explicit green_share(detail::green_state& held) noexcept : held_{&held} {}
  green_share(green_share&& other) noexcept : held_{std::exchange(other.held_, nullptr)} {}
  green_share& operator=(green_share&&) = delete;
  ~green_share() {
    if (held_ != nullptr) held_->drop();
  }

 private:
  detail::green_state* held_;
};

}  // namespace

namespace detail {

void keep_green(graph_ref graph, CUcontext context, call_site at) {
  if (green_state* const green = hold_green(context)) graph.keep(green_share{*green}, at);
}

namespace {

graph own(const ended_capture& ended, call_site at) { return graph::adopt(ended.graph, context_ref{ended.home}, at); }

}  // namespace

scoped_capture::scoped_capture(stream_ref stream, capture_options options, call_site at)
    : stream_{stream}, graph_{nullptr}, at_{at} {
  const open_capture begun = begin_open_capture(stream, options, true, at);
  graph_ = graph_ref{begun.graph};
  id_ = begun.id;
}

scoped_capture::~scoped_capture() {
  if (open_) static_cast<void>(abandon_open_capture(stream_, id_));
}

graph scoped_capture::finish() {
  const ended_capture ended = end_open_capture(stream_, id_, at_);
  open_ = false;
  return own(ended, at_);
}

}  // namespace detail

void begin_capture(stream_ref stream, capture_options options, call_site at) {
  static_cast<void>(detail::begin_open_capture(stream, options, false, at));
}

graph end_capture(stream_ref stream, call_site at) { return detail::own(detail::end_open_capture(stream, 0, at), at); }

capture_status capture_status_of(stream_ref stream, call_site at) {
  CUstream_st* const handle = usable(stream, "cuStreamIsCapturing", at);
  abi::CUstreamCaptureStatus status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(handle, &status), "cuStreamIsCapturing", stream, at);
  return static_cast<capture_status>(status);
}

capture_info capture_info_of(stream_ref stream, call_site at) {
  const detail::capture_part part = detail::capture_part_of(usable(stream, "cuStreamGetCaptureInfo", at), at);
  capture_info info;
  info.status = static_cast<capture_status>(part.status);
  if (part.status != abi::CU_STREAM_CAPTURE_STATUS_ACTIVE) return info;
  info.id = part.id;
  info.graph = graph_ref{part.graph};
  info.frontier.reserve(part.count);
  for (std::size_t i = 0; i < part.count; ++i) {
    edge_data data;
    if (part.edges != nullptr) data = {part.edges[i].from_port, part.edges[i].to_port, part.edges[i].type};
    info.frontier.push_back({graph_node{part.nodes[i], part.graph}, data});
  }
  return info;
}

thread_capture_mode::thread_capture_mode(capture_mode mode, call_site at) : before_{mode} {
  constexpr const char* call = "cuThreadExchangeStreamCaptureMode";
  detail::permit(call, {}, at);
  // The driver takes any number, and gives it back.
  if (!detail::is_one(mode)) detail::fail(errc::invalid_value, call, "", "the mode is none of capture_mode", at);
  auto exchanged = static_cast<abi::CUstreamCaptureMode>(mode);
  check(driver().cuThreadExchangeStreamCaptureMode(&exchanged), call, {}, at);
  before_ = static_cast<capture_mode>(exchanged);
}

thread_capture_mode::~thread_capture_mode() {
  auto mode = static_cast<abi::CUstreamCaptureMode>(before_);
  detail::check_unraised(driver().cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode", {});
}

}  // namespace weir
