// SPDX-License-Identifier: Apache-2.0
// api/stream/stream.cpp - owned streams: created, adopted, closed and released.
#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/stream.hpp>

#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/stream/stream_state.hpp"

#include <memory>
#include <new>
#include <utility>

namespace weir {

using detail::check;
using detail::driver;

namespace {

// Memory for a stream_state. It is allocated before the stream is created or adopted, so that no
// step after that can fail.
struct state_memory_delete {
  void operator()(void* memory) const noexcept { ::operator delete(memory); }
};
using state_memory = std::unique_ptr<void, state_memory_delete>;

state_memory allocate_state() { return state_memory{::operator new(sizeof(detail::stream_state))}; }

// Returns an id for a stream that weir creates, without the driver call cuStreamGetId. The ids
// start at 2^62, far above the ids that a driver assigns.
unsigned long long next_stream_id() noexcept {
  static constinit std::atomic<unsigned long long> last{1ull << 62};
  return last.fetch_add(1, std::memory_order_relaxed);
}

// Returns the id of a stream that other code created. Drivers before 12.0 have no ids, so weir
// assigns one.
unsigned long long stream_id_of(abi::CUstream stream, call_site at) {
  unsigned long long id = 0;
  const abi::CUresult answer = driver().cuStreamGetId(stream, &id);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return next_stream_id();
  check(answer, "cuStreamGetId", stream_ref{stream}, at);
  return id;
}

}  // namespace

stream::stream(weir::device gpu, stream_options options, call_site at)
    : stream{context_ref{detail::primary_context(gpu, at)}, options, at} {}

stream::stream(context_ref context, stream_options options, call_site at)
    : stream_ref{detail::closed_handle<CUstream_st>()}, state_{nullptr} {
  const detail::subject object{context.get()};
  detail::require_outside_host_function("cuStreamCreateWithPriority", object, at);
  if (!context)
    detail::throw_error(errc::invalid_context, "cuStreamCreateWithPriority", object, at);
  const weir::device gpu = context.device(at);
  const bool blocking = options.kind == stream_kind::blocking;
  if (!blocking && options.kind != stream_kind::non_blocking) {
    detail::throw_error(
        errc::invalid_value, "cuStreamCreateWithPriority", to_string(gpu),
        "the kind is not a value of weir::stream_kind; use blocking or non_blocking", at);
  }
  if (blocking && detail::is_green(context.get())) {
    detail::throw_error(
        errc::invalid_value, "cuStreamCreateWithPriority", "a green context",
        "streams of a green context are not ordered with the legacy default stream; "
        "create a non-blocking stream",
        at);
  }
  detail::check_priority(gpu, context.get(), options.priority, "cuStreamCreateWithPriority", at);
  state_memory memory = allocate_state();
  detail::watch_exit_of_main_thread();

  const detail::make_current current{context.get(), at};
  abi::CUstream handle = nullptr;
  check(driver().cuStreamCreateWithPriority(
            &handle, blocking ? abi::CU_STREAM_DEFAULT : abi::CU_STREAM_NON_BLOCKING,
            options.priority),
        "cuStreamCreateWithPriority", object, at);
  state_ = ::new (memory.release())
      detail::stream_state{handle,
                           {context.get(), gpu.ordinal(), options.priority, blocking,
                            next_stream_id(), detail::acquire_green_state(context.get())}};
  exchange_handle(handle);
}

stream stream::adopt(CUstream_st* handle, call_site at) {
  constexpr const char* call = "weir::stream::adopt";
  const stream_ref borrowed{handle};
  detail::require_open(borrowed, call, at);
  if (detail::is_default(handle)) {
    detail::throw_error(errc::invalid_handle, call, to_string(borrowed),
                        "default streams cannot be owned or destroyed; use stream_ref::legacy() or "
                        "stream_ref::per_thread()",
                        at);
  }
  if (detail::find_stream_properties(handle)) {
    detail::throw_error(errc::invalid_handle, call, to_string(borrowed),
                        "a weir::stream already owns this stream; release() it first", at);
  }
  state_memory memory = allocate_state();
  detail::stream_properties properties;
  // is_blocking() comes first, because it throws if the stream is capturing. The query of the id
  // would invalidate the capture.
  properties.blocking = borrowed.is_blocking(at);
  properties.id = stream_id_of(handle, at);
  properties.priority = borrowed.priority(at);
  properties.context = borrowed.context(at).get();
  properties.device = context_ref{properties.context}.device(at).ordinal();
  properties.green = detail::acquire_green_state(properties.context);
  return stream{handle, ::new (memory.release()) detail::stream_state{handle, properties}};
}

stream& stream::operator=(stream&& other) noexcept {
  stream replacement{std::move(other)};
  replacement.exchange_handle(exchange_handle(replacement.get()));
  std::swap(state_, replacement.state_);
  return *this;
}

stream::~stream() {
  if (state_ != nullptr) state_->release_noexcept(detail::stream_holder::user);
}

void stream::close(call_site at) {
  if (closed()) return;
  const stream_ref closing = ref();
  detail::require_outside_host_function("cuStreamDestroy", closing, at);
  detail::stream_state* const state = state_;
  reset();
  if (const errc answer = state->release(detail::stream_holder::user, true);
      answer != errc::success) {
    detail::throw_error(answer, "cuStreamDestroy", closing, at);
  }
}

namespace {

[[noreturn]] void throw_still_in_use(const char* call, stream_ref s,
                                     const detail::stream_state& state, call_site at) {
  detail::throw_error(
      errc::illegal_state, call, to_string(s),
      state.has_other_users()
          ? "the stream is in use as the current stream of a thread, or by a buffer or a "
            "capture; end that use first, or close() the stream, which defers its "
            "destruction to the end of the last use"
          : "memory that was used in the stream still exists (a buffer, pinned or managed "
            "memory, a wait word) and may query the stream; destroy that memory first, or "
            "sync() and close() the stream, which defers its destruction to the end of the "
            "last use",
      at);
}

}  // namespace

void stream::shutdown(call_site at) {
  constexpr const char* call = "weir::stream::shutdown";
  if (closed()) return;
  detail::require_outside_host_function(call, ref(), at);
  detail::throw_if_sync_forbidden(call, at);
  if (state_->has_other_holders()) throw_still_in_use(call, ref(), *state_, at);
  try {
    sync(at);
  } catch (error& first) {
    try {
      close(at);
    } catch (const error& second) {
      first.attach(second);
    }
    throw;
  } catch (...) {
    // A host function has thrown the exception, which is rethrown. The destructor of `closing`
    // destroys the stream and reports its own failure.
    const stream closing{std::move(*this)};
    throw;
  }
  close(at);
}

CUstream_st* stream::release(call_site at) {
  constexpr const char* call = "weir::stream::release";
  if (closed()) detail::throw_closed(call, ref(), at);
  CUstream_st* const handle = get();
  if (!state_->disown()) throw_still_in_use(call, ref(), *state_, at);
  reset();
  return handle;
}

}  // namespace weir
