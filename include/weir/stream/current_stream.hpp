// SPDX-License-Identifier: Apache-2.0
// weir/stream/current_stream.hpp - the calling thread's current stream, for code that names no
// stream.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

namespace weir {

// Each thread has a current stream for each device; initially it is the default stream. No function
// of weir reads it. The current stream is for code that would otherwise pass one stream through
// many calls; libraries should take a stream as a parameter. A stream owned by a weir::stream stays
// alive while it is the current stream of any thread, even if that owner was destroyed. The caller
// has to keep other streams alive.

/// Returns the stream that is current in a new thread: stream_ref::legacy(), or
/// stream_ref::per_thread() if the environment variable WEIR_DEFAULT_STREAM is `per-thread`. The
/// variable is read once, at the first use. Both streams need a current context; see
/// stream_ref::legacy().
///
/// Throws: `invalid_value`, at every call, if the variable is neither `legacy` nor `per-thread`.
[[nodiscard]] WEIR_EXPORT stream_ref default_stream(call_site at = call_site::current());

/// Returns the calling thread's current stream for a device, without a driver call.
[[nodiscard]] WEIR_EXPORT stream_ref current_stream(device gpu,
                                                    call_site at = call_site::current());
/// Returns the calling thread's current stream for current_device(), the device of the current
/// context.
[[nodiscard]] WEIR_EXPORT stream_ref current_stream(call_site at = call_site::current());

/// Makes a stream current for the calling thread and the stream's device, until the next
/// set_current_stream() or the end of the enclosing stream_scope. A default stream becomes current
/// for current_device(). Does not order any work.
///
/// Throws: `invalid_device` with nothing changed if a context of another device than the stream's
/// is current.
WEIR_EXPORT void set_current_stream(stream_ref stream, call_site at = call_site::current());

/// Options for stream_scope.
struct stream_scope_options {
  /// Makes the new stream wait, on the device, for the work queued so far in the previous stream.
  bool wait_on_entry = false;
  /// Makes the previous stream wait, on the device, for the work queued in the new stream. The wait
  /// is queued when the scope ends.
  bool wait_on_exit = false;
  /// Also makes the stream's context current. If false, a stream of another device than the current
  /// context's throws `invalid_device`.
  bool switch_device = false;
};

/// Makes a stream current until the end of the block, then restores the previous stream. Restores
/// it also if set_current_stream() was called in the block, or if the block ends by an exception.
/// Scopes nest; each scope has to end on the thread that created it.
class WEIR_EXPORT stream_scope {
 public:
  /// Makes the stream current, as set_current_stream() does.
  [[nodiscard]] explicit stream_scope(stream_ref stream, stream_scope_options options = {},
                                      call_site at = call_site::current());
  /// Makes the stream current, as set_current_stream() does. If the pointer is null, the scope does
  /// nothing.
  [[nodiscard]] explicit stream_scope(const stream_ref* stream_or_null,
                                      stream_scope_options options = {},
                                      call_site at = call_site::current());
  explicit stream_scope(int, stream_scope_options = {},
                        call_site = {}) = delete;  ///< 0 is not a null pointer here
  stream_scope(const stream_scope&) = delete;
  stream_scope& operator=(const stream_scope&) = delete;
  /// Restores the previous stream. Errors of a wait on exit go to set_unhandled_error_handler.
  ~stream_scope();

 private:
  void enter(stream_ref stream, stream_scope_options options, call_site at);

  CUstream_st* previous_ = nullptr;
  /// Keeps the previous stream alive; null if weir does not own the stream.
  detail::stream_state* previous_state_ = nullptr;
  CUstream_st* entered_ = nullptr;
  /// Keeps the stream of the scope alive; null if weir does not own the stream.
  detail::stream_state* entered_state_ = nullptr;
  int device_ = -1;  ///< -1: the scope does nothing
  /// False if no stream had been made current before: the previous one is default_stream().
  bool previous_is_set_ = false;
  bool wait_on_exit_ = false;
  bool pushed_context_ = false;  ///< true if the destructor has to restore the previous context
};

}  // namespace weir
