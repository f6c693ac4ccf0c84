// SPDX-License-Identifier: Apache-2.0
// api/stream/current_stream.cpp - the current streams of each thread.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/current_stream.hpp>

#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/core/thread_singleton.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/stream/stream_state.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {
namespace {

struct user_release {
  void operator()(detail::stream_state* state) const noexcept {
    state->release_noexcept(detail::stream_holder::user);
  }
};
// A reference to a stream that weir owns; null for any other stream.
using stream_use = std::unique_ptr<detail::stream_state, user_release>;

// The current stream of a thread for one device.
struct slot {
  CUstream_st* stream = nullptr;
  stream_use use;
  bool is_set = false;  // false: the default stream is current
};

// The slots of the calling thread, indexed by device ordinal.
std::vector<slot>& slots() { return detail::thread_singleton<std::vector<slot>>::get(); }

slot& slot_for(int device) {
  const auto index = static_cast<std::size_t>(device);
  if (index >= slots().size()) slots().resize(index + 1);
  return slots()[index];
}

// The default stream that the environment selects. `problem` is not empty if the value of the
// environment variable is invalid. Read once, so that a later change of the environment does not
// give threads different default streams.
struct default_stream_setting {
  stream_ref stream = stream_ref::legacy();
  std::string problem;
};

default_stream_setting read_environment() {
  const char* const value = std::getenv("WEIR_DEFAULT_STREAM");
  const std::string_view word = value != nullptr ? value : "";
  if (word.empty() || word == "legacy") return {};
  if (word == "per-thread") return {stream_ref::per_thread(), {}};
  return {stream_ref::legacy(),
          fmt::format("WEIR_DEFAULT_STREAM is '{}'; set it to legacy or per-thread", word)};
}

// Returns the device for which `stream` can be the current stream. Throws if a context of another
// device is current, unless `may_switch` is true, because the caller then switches the context.
weir::device device_for(stream_ref stream, const char* call, bool may_switch, call_site at) {
  detail::require_open(stream, call, at);
  if (stream.is_default()) return current_device(at);
  const weir::device gpu = stream.device(at);
  const context_ref current = current_context(at);
  if (may_switch || !current || current.device(at) == gpu) return gpu;
  detail::throw_error(
      errc::invalid_device, call, to_string(stream),
      fmt::format("the context of device {} is current, and the stream is on device {}; make that "
                  "device's context current first (weir::context_scope), or pass switch_device to "
                  "stream_scope",
                  current.device(at).ordinal(), gpu.ordinal()),
      at);
}

stream_use use_of(stream_ref stream) noexcept {
  if (stream.is_default()) return nullptr;
  return stream_use{detail::acquire_stream_state(stream.get(), detail::stream_holder::user)};
}

slot make_slot(stream_ref stream) noexcept { return {stream.get(), use_of(stream), true}; }

// Releases the old reference only after the exchange. The release may destroy the stream, and the
// handler of its failure may ask for the current stream.
void replace(slot& current, slot&& replacement) noexcept {
  static_cast<void>(std::exchange(current, std::move(replacement)));
}

}  // namespace

stream_ref default_stream(call_site at) {
  static detail::never_destroyed<default_stream_setting> kept{read_environment()};
  const default_stream_setting& setting = *kept;
  if (!setting.problem.empty()) {
    detail::throw_error(errc::invalid_value, "weir::default_stream", "the environment",
                        setting.problem, at);
  }
  return setting.stream;
}

stream_ref current_stream(device gpu, call_site at) {
  static_cast<void>(detail::record_of(gpu, "weir::current_stream", at));  // checks the ordinal
  const auto index = static_cast<std::size_t>(gpu.ordinal());
  const bool is_set = index < slots().size() && slots()[index].is_set;
  return is_set ? stream_ref{slots()[index].stream} : default_stream(at);
}

stream_ref current_stream(call_site at) { return current_stream(current_device(at), at); }

void set_current_stream(stream_ref stream, call_site at) {
  const weir::device gpu = device_for(stream, "weir::set_current_stream", false, at);
  replace(slot_for(gpu.ordinal()), make_slot(stream));
}

stream_scope::stream_scope(stream_ref stream, stream_scope_options options, call_site at) {
  enter(stream, options, at);
}

stream_scope::stream_scope(const stream_ref* stream_or_null, stream_scope_options options,
                           call_site at) {
  if (stream_or_null != nullptr) enter(*stream_or_null, options, at);
}

void stream_scope::enter(stream_ref stream, stream_scope_options options, call_site at) {
  const weir::device gpu = device_for(stream, "weir::stream_scope", options.switch_device, at);
  slot& current = slot_for(gpu.ordinal());
  // All steps that can fail are made before the first change of a member. The context is pushed
  // last, because a failure of a later step would require a pop.
  if (options.wait_on_entry) stream.wait(current_stream(gpu, at), at);
  if (options.switch_device) pushed_context_ = detail::push_current(stream.context(at).get(), at);

  previous_is_set_ = current.is_set;
  previous_ = current.stream;
  previous_state_ = current.use.release();
  current = make_slot(stream);
  entered_ = stream.get();
  entered_state_ = use_of(stream).release();
  device_ = gpu.ordinal();
  wait_on_exit_ = options.wait_on_exit;
}

stream_scope::~stream_scope() {
  if (device_ < 0) return;
  if (wait_on_exit_) {
    try {
      const stream_ref previous = previous_is_set_ ? stream_ref{previous_} : default_stream();
      previous.wait(stream_ref{entered_});
    } catch (...) {
      detail::call_unhandled_error_handler(std::current_exception());
    }
  }
  stream_use{entered_state_}.reset();
  // The constructor has created the slot, so slot_for() allocates no memory here.
  replace(slot_for(device_), slot{previous_, stream_use{previous_state_}, previous_is_set_});
  if (pushed_context_) detail::pop_current();
}

}  // namespace weir
