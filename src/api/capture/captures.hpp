// api/capture/captures.hpp - the captures that were begun through weir and are open: what they are,
// and what broke them.
#pragma once

#include "api/capture/relaxed_capture_mode.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "os/forked_child.hpp"

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

namespace weir::detail {

// What is kept of a capture for as long as it is open.
struct active_capture {
  CUstream origin = nullptr;
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  CUcontext context = nullptr;              // of the stream
  CUcontext instantiate_context = nullptr;  // where the graph is to be instantiated
  capture_options options;
  bool scoped = false;               // ended by its scope, and by nobody else
  bool into_existing_graph = false;  // into a graph that there was before
  bool borrowed = false;             // which is somebody else's, before and after
  bool external =
      false;  // started directly through the driver: somebody takes part in it, and does not end it
  call_site begun_at;
  unsigned long long thread = 0;  // unique_thread_id() of who began it
  int system_thread_id = 0;       // the system's, for texts
};

[[nodiscard]] constexpr bool is_valid_mode(capture_mode mode) noexcept {
  return mode <= capture_mode::relaxed;
}

// A graph that was there before, for what a capture records.
struct capture_target {
  CUgraph graph;
  frontier_list after;
  bool borrowed;  // it stays somebody else's; else it is the capture's from the begin on
  CUcontext instantiate_context = nullptr;  // where it was captured before; null if nobody knows
  bool is_destroyed = false;                // the begin has failed, and the driver has destroyed it
};

// Begins one and remembers it; throws with nothing begun.
[[nodiscard]] active_capture begin_active_capture(stream_ref stream, capture_options options,
                                                  bool scoped, call_site at,
                                                  capture_target* into = nullptr);

// Ends the capture of that stream, which `scope` names if it is a scope's, and gives the graph and
// where to instantiate it. Throws where that is not as it should be: the graph is gone then, a
// given one only if the capture was broken, or streams were not joined of which weir knows nothing,
// which `is_destroyed` tells. One that is still there is as it was.
struct ended_capture {
  CUgraph graph = nullptr;
  CUcontext instantiate_context = nullptr;
};
[[nodiscard]] ended_capture end_active_capture(stream_ref stream, unsigned long long scope,
                                               call_site at);
ended_capture end_borrowed_capture(stream_ref stream, unsigned long long scope, bool& is_destroyed,
                                   call_site at);

// The same where nothing can be thrown: nothing if it has ended, else the graph is destroyed, a
// given one is as it was. Is a given one gone?
bool abandon_capture(stream_ref stream, unsigned long long scope) noexcept;

// What lives as long as graphs of the streams of that context need it, lives.
void keep_green_context(graph_ref graph, CUcontext context, call_site at);

// Held while a capture is begun, and while weir's own thread marks streams that must not capture:
// the mark would be a part of the capture, and a look at it would break that. In the child of a
// fork there is no such thread, and nobody to let go.
class capture_begin_lock {
 public:
  capture_begin_lock() noexcept : locked_{!in_forked_child()} {
    if (locked_) mutex_.lock();
  }
  capture_begin_lock(const capture_begin_lock&) = delete;
  capture_begin_lock& operator=(const capture_begin_lock&) = delete;
  ~capture_begin_lock() {
    if (locked_) mutex_.unlock();
  }

 private:
  static inline constinit std::mutex mutex_;

  bool locked_;
};

// Is any open, begun through weir? One load where none is. Those of a forked child are its
// parent's.
[[nodiscard]] inline bool any_capture_active() noexcept {
  return active_capture_count.load(std::memory_order_relaxed) != 0 && !in_forked_child();
}

// Captures begun by hand that were ended directly through the driver, or with their stream, are
// open no more: asks all that can be asked, and says whether there were any. Until then what waits
// for the end of captures does.
bool remove_ended_captures() noexcept;

// The following are asked only while any is open.

// Its owner is gone, while a capture records into it or into a part of it: it is destroyed with the
// end of that. False, and nothing done, where there is no such capture.
[[nodiscard]] bool transfer_to_capture(CUgraph graph) noexcept;

// The stream has joined a capture, perhaps.
void track_join(CUstream stream) noexcept;
// The event was recorded in the stream: in a capture, perhaps, or outside again.
void track_event_record(CUevent event, CUstream stream) noexcept;
// It is gone; another one may get its handle.
void untrack_event(CUevent event) noexcept;
// Was the event's last record part of one of them?
[[nodiscard]] bool is_captured_event(CUevent event) noexcept;
// The driver has answered a call on that so. If the call has broken a capture it is remembered as
// what did.
void attribute_failure(errc code, const char* call, subject on, call_site at) noexcept;

// The code of the weir::error that is being handled; there is only memory that may lack otherwise.
[[nodiscard]] errc current_error_code() noexcept;

// Throw what says where the capture was begun, before the driver hears of the call.
void throw_if_stream_captured(CUstream stream, const char* call, call_site at);
void throw_if_event_captured(CUevent event, const char* call, call_site at);
void throw_if_context_captured(CUcontext context, const char* call, call_site at);
void throw_if_graph_captured(CUgraph graph, const char* call, call_site at);  // nor a part of it
void throw_if_part_captured(CUgraph graph, CUgraphNode node, const char* call,
                            call_site at);  // of that node
// Of memory that the capture of that id would record: no body of a conditional node can hold it,
// nor let go of it.
void throw_if_memory_in_body(unsigned long long capture, CUstream stream, const char* call,
                             call_site at);
// Throws what says that the graph cannot be used any more.
[[noreturn]] void fail_lost_graph(CUgraph graph, const char* call, call_site at);

// Around a look at a stream or an event: refused if it would break a capture that has to do with
// it, and made without harm to all others. One load while none is open.
class relaxed_capture_guard {
 public:
  relaxed_capture_guard(stream_ref stream, const char* call, call_site at) {
    if (any_capture_active()) [[unlikely]] {
      throw_if_stream_captured(stream.get(), call, at);
      relaxed_.emplace(at);
    }
  }
  relaxed_capture_guard(event_ref event, const char* call, call_site at) {
    if (any_capture_active()) [[unlikely]] {
      throw_if_event_captured(event.get(), call, at);
      relaxed_.emplace(at);
    }
  }

 private:
  std::optional<relaxed_capture_mode> relaxed_;
};

}  // namespace weir::detail
