// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_record.hpp - what weir stores about an open capture.
#pragma once

#include "api/capture/capture_invalidation.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/event/pooled_event.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>

#include <string>
#include <vector>

namespace weir::detail {

// Who owns the graph of a capture while the capture is open.
enum class graph_ownership : unsigned char {
  owned,     // by the capture: the graph is new, or was moved into begin_capture_to()
  borrowed,  // by the code that passed the graph, during and after the capture
};

// The code that ends a capture.
enum class capture_end : unsigned char {
  by_scope,  // the function that began it, such as capture()
  by_call,   // end_capture() or end_capture_to()
  external,  // the code that started it directly through the driver; weir only participates
};

// The properties of an open capture. All but thread_has_ended are constant.
struct active_capture {
  CUstream origin = nullptr;
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  CUcontext context = nullptr;              // of the origin stream
  CUcontext instantiate_context = nullptr;  // context for the executable; null: not known
  capture_options options = {};
  graph_ownership ownership = graph_ownership::owned;
  capture_end end = capture_end::by_scope;
  bool has_existing_graph = false;  // the capture records into a graph that existed before it
  weir::graph* owner = nullptr;     // object that owns the borrowed graph; null: not known
  call_site begun_at;
  unsigned long long thread = 0;  // unique_thread_id() of the thread that began it
  int system_thread_id = 0;       // the operating system's id, for messages
  bool thread_has_ended = false;  // the thread that began it

  [[nodiscard]] bool borrows_graph() const noexcept {
    return ownership == graph_ownership::borrowed;
  }
  // Returns true if the calling thread may end the capture.
  [[nodiscard]] bool may_end_here() const noexcept;
};

// Returns a text such as "the capture begun at main.cpp:12 in own_thread mode by thread 4711". A
// default-constructed object stands for a capture of which weir has no record.
[[nodiscard]] std::string to_text(const active_capture& capture);

// A stream that takes part in a capture.
struct joined_stream {
  CUstream stream;
  CUcontext context;            // null if it is not known
  unsigned long long thread;    // unique_thread_id() of the thread that added it
  work_mark earlier_work = {};  // behind the work before the stream joined; null: not known

  // Returns true if the handle `other`, used by the calling thread, refers to this stream. The
  // handle of the per-thread default stream refers to a different stream on each thread.
  [[nodiscard]] bool matches(CUstream other) const noexcept;
};

// The data of one open capture, owned by the capture_registry. Guarded by the lock of the registry
// once it is added.
struct capture_record {
  // Describes a capture that the calling thread begins, or a participant joins, in `stream`.
  capture_record(CUstream stream, call_site at);
  capture_record(const capture_record&) = delete;
  capture_record& operator=(const capture_record&) = delete;
  ~capture_record();

  // Returns true if the capture began in `stream`, as seen from the calling thread.
  [[nodiscard]] bool has_origin(CUstream stream) const noexcept;
  // Returns true if `stream` is the origin stream, or is listed in `joined`.
  [[nodiscard]] bool has_stream(CUstream stream) const noexcept;
  // Returns true if the origin or a joined stream belongs to `context`.
  [[nodiscard]] bool has_context(CUcontext context) const noexcept;
  // Returns true if the event's last record is part of the capture.
  [[nodiscard]] bool has_event(CUevent event) const noexcept;
  // Returns true if the calling thread may query the origin stream. The thread that began the
  // capture may always do so.
  //
  // Any other thread may do so only if weir owns the stream, because this record then keeps the
  // stream alive. Otherwise the first thread could destroy the stream during the query, and a GPU's
  // driver crashes on a destroyed stream.
  [[nodiscard]] bool can_be_queried() const noexcept;

  active_capture capture;
  std::vector<joined_stream> joined;  // streams that weir has seen join, without the origin
  work_mark earlier_work;             // behind the work of the origin before the capture
  std::vector<CUevent> events;        // events whose last record is part of the capture
  // The nodes that a borrowed graph had when the capture began, sorted. If the capture fails, all
  // other nodes are removed from the graph.
  std::vector<CUgraphNode> existing_nodes;
  // A graph whose owner was destroyed during the capture; null if there is none. It is the borrowed
  // graph or a graph that contains it. The end of the capture destroys it (transfer_to_capture()).
  CUgraph ownerless_graph = nullptr;
  // The call that invalidated the capture; its member `call` is null if none is known.
  capture_invalidation invalidation;
  // True if a call failed with stream_capture_invalidated before weir had recorded the call that
  // invalidated the capture. Most often that call was made directly through the driver. It may also
  // be a call through weir whose thread has not recorded its failure yet. Later calls that fail as
  // unsafe or implicit are not recorded as the cause (capture_invalidation.cpp).
  bool has_unknown_cause = false;

  int participant_count = 0;  // number of capture_participant objects for this capture
  // Number of threads that query the origin stream at this moment. The record is not removed while
  // the number is above 0.
  int active_queries = 0;
  // True if a query has shown that other code ended the capture directly through the driver. Set by
  // remove_ended_captures().
  bool has_ended = false;
  // True while a thread ends the capture in the driver, see capture_registry::begin_end().
  bool is_ending = false;

 private:
  stream_state* origin_state_;  // reference to the origin stream; null if weir does not own it
  scoped_active_capture active_;
};

}  // namespace weir::detail
