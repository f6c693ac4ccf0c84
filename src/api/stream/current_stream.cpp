// api/stream/current_stream.cpp - the current streams of each thread.
#include <weir/device/context.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/core/to_string.hpp>

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/primary_context.hpp"
#include "api/stream/stream_state.hpp"
#include "api/core/thread_object.hpp"
#include "api/core/unraised.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {
namespace {

// A stream and, of those that weir owns, a share that keeps it alive.
struct slot {
  CUstream_st* stream = nullptr;
  detail::stream_state* state = nullptr;
  bool chosen = false;  // until then it is the default stream
};

// By the device's number. At the end of the thread its shares go.
class thread_slots {
 public:
  thread_slots() = default;
  thread_slots(const thread_slots&) = delete;
  thread_slots& operator=(const thread_slots&) = delete;
  ~thread_slots() {
    for (const slot& s : slots_) {
      if (s.state != nullptr) s.state->drop(detail::share::user);
    }
  }

  [[nodiscard]] slot& of(int device) {
    const auto index = static_cast<std::size_t>(device);
    if (index >= slots_.size()) slots_.resize(index + 1);
    return slots_[index];
  }
  [[nodiscard]] const slot* find(int device) const noexcept {
    const auto index = static_cast<std::size_t>(device);
    return index < slots_.size() ? &slots_[index] : nullptr;
  }

 private:
  std::vector<slot> slots_;
};

thread_slots& slots() { return detail::thread_object<thread_slots>::get(); }

// What the environment says, read once: a later change would make threads differ.
struct wished_default {
  stream_ref stream = stream_ref::legacy();
  std::string problem;
};

wished_default read_environment() {
  const char* const value = std::getenv("WEIR_DEFAULT_STREAM");
  const std::string_view word = value != nullptr ? value : "";
  if (word.empty() || word == "legacy") return {};
  if (word == "per-thread") return {stream_ref::per_thread(), {}};
  return {stream_ref::legacy(), fmt::format("WEIR_DEFAULT_STREAM is '{}'; it may be legacy or per-thread", word)};
}

// The device that the stream is or would be current for. Refuses one whose device is not that of the current context.
weir::device device_for(stream_ref stream, const char* call, bool may_switch, call_site at) {
  detail::usable(stream, call, at);
  if (stream.is_default()) return current_device(at);
  const weir::device gpu = stream.device(at);
  const context_ref now = current_context(at);
  if (may_switch || !now || now.device(at) == gpu) return gpu;
  detail::fail(errc::invalid_device, call, to_string(stream),
               fmt::format("the context of device {} is current; make one of device {} current first "
                           "(weir::context_scope), or give a stream_scope the option switch_device",
                           now.device(at).ordinal(), gpu.ordinal()),
               at);
}

slot make_slot(stream_ref stream) noexcept {
  return {stream.get(), stream.is_default() ? nullptr : detail::hold_stream(stream.get(), detail::share::user), true};
}

void replace(slot& place, slot&& by) noexcept {
  const slot old = std::exchange(place, by);
  if (old.state != nullptr) old.state->drop(detail::share::user);
}

}  // namespace

stream_ref default_stream(call_site at) {
  static detail::never_destroyed<wished_default> kept{read_environment()};
  const wished_default& wish = *kept;
  if (!wish.problem.empty()) {
    detail::fail(errc::invalid_value, "weir::default_stream", "the environment", wish.problem, at);
  }
  return wish.stream;
}

stream_ref current_stream(device gpu, call_site at) {
  static_cast<void>(detail::record_of(gpu, "weir::current_stream", at));
  const slot* const mine = slots().find(gpu.ordinal());
  return mine != nullptr && mine->chosen ? stream_ref{mine->stream} : default_stream(at);
}

stream_ref current_stream(call_site at) { return current_stream(current_device(at), at); }

void use(stream_ref stream, call_site at) {
  const weir::device gpu = device_for(stream, "weir::use", false, at);
  replace(slots().of(gpu.ordinal()), make_slot(stream));
}

stream_scope::stream_scope(stream_ref stream, stream_scope_options options, call_site at) {
  enter(stream, options, at);
}

stream_scope::stream_scope(const stream_ref* stream_or_null, stream_scope_options options, call_site at) {
  if (stream_or_null != nullptr) enter(*stream_or_null, options, at);
}

void stream_scope::enter(stream_ref stream, stream_scope_options options, call_site at) {
  const weir::device gpu = device_for(stream, "weir::stream_scope", options.switch_device, at);
  slot& place = slots().of(gpu.ordinal());
  // All that can fail comes before anything changes; the context last, as it has to be undone.
  if (options.wait_on_entry) stream.wait(current_stream(gpu, at), at);
  if (options.switch_device) pushed_context_ = detail::push_current(stream.context(at).get(), at);

  previous_chosen_ = place.chosen;
  previous_ = place.stream;
  previous_state_ = place.state;
  place = make_slot(stream);
  entered_ = stream.get();
  entered_state_ = stream.is_default() ? nullptr : detail::hold_stream(entered_, detail::share::user);
  device_ = gpu.ordinal();
  wait_on_exit_ = options.wait_on_exit;
}

stream_scope::~stream_scope() {
  if (device_ < 0) return;
  if (wait_on_exit_) {
    try {
      const stream_ref before = previous_chosen_ ? stream_ref{previous_} : default_stream();
      before.wait(stream_ref{entered_});
    } catch (...) {
      detail::raise_to_hook(std::current_exception());
    }
  }
  if (entered_state_ != nullptr) entered_state_->drop(detail::share::user);
  // The slot exists since this scope began, so finding it cannot fail.
  replace(slots().of(device_), slot{previous_, previous_state_, previous_chosen_});
  if (pushed_context_) detail::pop_current();
}

}  // namespace weir
