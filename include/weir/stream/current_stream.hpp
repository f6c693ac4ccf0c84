// weir/stream/current_stream.hpp - the stream that code of this thread uses where none is named.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

namespace weir {

// Each thread has a current stream for each device, at first the default stream. No function of
// weir reads it: it is for the caller's convenience, for code that would otherwise hand one stream
// through many calls. Libraries take a stream. A current stream stays alive while it is current in
// any thread, also when its owner is gone; that holds for streams that weir owns, others are the
// caller's to keep.

// The default stream that threads start with: stream_ref::legacy(), or what the environment says in
// WEIR_DEFAULT_STREAM=legacy|per-thread, read at the first use. Any other value is an error
// (invalid_value) at every call.
[[nodiscard]] WEIR_EXPORT stream_ref default_stream(call_site at = call_site::current());

// The calling thread's current stream for a device; no driver call. Without a device, for
// current_device().
[[nodiscard]] WEIR_EXPORT stream_ref current_stream(device gpu,
                                                    call_site at = call_site::current());
[[nodiscard]] WEIR_EXPORT stream_ref current_stream(call_site at = call_site::current());

// Makes a stream current for the calling thread and its device, until the next use() or the end of
// the enclosing stream_scope. A default stream becomes current for current_device(). Refused
// (invalid_device), with nothing changed, if the context of another device is current. Orders
// nothing.
WEIR_EXPORT void use(stream_ref stream, call_site at = call_site::current());

struct stream_scope_options {
  // Make the new stream wait, on the device, for the work of the one that was current before.
  bool wait_on_entry = false;
  // Make the one that was current before wait, on the device, for the new one's work.
  bool wait_on_exit = false;
  // If the stream is of another device, make its context current as well; without this it is
  // refused.
  bool switch_device = false;
};

// use(stream) until the end of the block, then current again exactly what was, also if that had
// come from a plain use(), if there was a use() in between, or if the block ends by an exception.
// Scopes nest; each ends on the thread that began it.
class WEIR_EXPORT stream_scope {
 public:
  [[nodiscard]] explicit stream_scope(stream_ref stream, stream_scope_options options = {},
                                      call_site at = call_site::current());
  // A null pointer makes a scope that does nothing.
  [[nodiscard]] explicit stream_scope(const stream_ref* stream_or_null,
                                      stream_scope_options options = {},
                                      call_site at = call_site::current());
  explicit stream_scope(int, stream_scope_options = {},
                        call_site = {}) = delete;  // 0 is no null pointer here
  stream_scope(const stream_scope&) = delete;
  stream_scope& operator=(const stream_scope&) = delete;
  // A wait on exit that fails goes to set_unhandled_error_handler.
  ~stream_scope();

 private:
  void enter(stream_ref stream, stream_scope_options options, call_site at);

  CUstream_st* previous_ = nullptr;
  detail::stream_state* previous_state_ = nullptr;
  CUstream_st* entered_ = nullptr;
  detail::stream_state* entered_state_ = nullptr;
  int device_ = -1;  // none: a scope that does nothing
  bool previous_is_set_ = false;
  bool wait_on_exit_ = false;
  bool pushed_context_ = false;
};

}  // namespace weir
