// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_record.hpp - what weir stores about an open capture.
#pragma once

#include "api/capture/capture_invalidation.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/stream/stream_state.hpp"

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>

#include <string>
#include <vector>

namespace weir::detail {

// Who owns the graph of a capture while the capture is open.
enum class graph_ownership : unsigned char {
  owned,     // the capture: the graph is new, or was moved into begin_capture_to()
  borrowed,  // its owner, during and after the capture
};

// What ends a capture.
enum class capture_end : unsigned char {
  by_scope,  // the function that began it, such as capture()
  by_call,   // end_capture() or end_capture_to()
  external,  // the code that started it directly through the driver; weir only participates
};

// Describes an open capture.
struct active_capture {
  CUstream origin = nullptr;
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  CUcontext context = nullptr;              // of the origin stream
  CUcontext instantiate_context = nullptr;  // in which the graph will be instantiated
  capture_options options = {};
  graph_ownership ownership = graph_ownership::owned;
  capture_end end = capture_end::by_scope;
  weir::graph* owner = nullptr;  // closed if the driver destroys the borrowed graph; may be null
  call_site begun_at;
  unsigned long long thread = 0;  // unique_thread_id() of the thread that began it
  int system_thread_id = 0;       // the operating system's id, for messages

  [[nodiscard]] bool borrows_graph() const noexcept {
    return ownership == graph_ownership::borrowed;
  }
  // Returns true if the calling thread may end the capture.
  [[nodiscard]] bool may_end_here() const noexcept;
};

// Returns a text such as "the capture begun at main.cpp:12 in own_thread mode by thread 4711".
[[nodiscard]] std::string to_text(const active_capture& capture);

struct joined_stream {
  CUstream stream;
  CUcontext context;          // null if weir does not own the stream
  unsigned long long thread;  // unique_thread_id() of the thread that made it join

  // Returns true if `other` means this stream on the calling thread. Each thread has its own
  // per-thread default stream.
  [[nodiscard]] bool matches(CUstream other) const noexcept;
};

struct capture_record {
  // Describes a capture that the calling thread begins in `stream`.
  capture_record(CUstream stream, call_site at);
  capture_record(const capture_record&) = delete;
  capture_record& operator=(const capture_record&) = delete;
  ~capture_record();

  // Returns true if the capture began in `stream`, as seen from the calling thread.
  [[nodiscard]] bool has_origin(CUstream stream) const noexcept;
  // Returns true if `stream` is the origin, or weir has seen it join.
  [[nodiscard]] bool has_stream(CUstream stream) const noexcept;
  // Returns true if the origin or a joined stream belongs to `context`.
  [[nodiscard]] bool has_context(CUcontext context) const noexcept;
  // Returns true if the event's last record is part of the capture.
  [[nodiscard]] bool has_event(CUevent event) const noexcept;
  // Returns true if the calling thread may query the origin stream. If another thread began the
  // capture, weir must own the stream, because this record then keeps it alive. That thread could
  // destroy any other stream meanwhile, and a GPU's driver crashes on a destroyed stream.
  [[nodiscard]] bool can_be_queried() const noexcept;

  active_capture capture;
  std::vector<joined_stream> joined;        // streams that weir has seen join, without the origin
  std::vector<CUevent> events;              // events whose last record is part of the capture
  std::vector<CUgraphNode> existing_nodes;  // the nodes that a borrowed graph had before, sorted
  // The borrowed graph, or the graph that contains it, if its owner was destroyed during the
  // capture.
  CUgraph ownerless_graph = nullptr;
  capture_invalidation invalidation;
  // Set if the capture was already invalidated when the first failed call that could have
  // invalidated it was recorded.
  bool invalidated_directly = false;

  int participant_count = 0;  // number of capture_participant objects in this capture
  // Number of threads that query the origin now. The record stays registered until it is 0.
  int active_queries = 0;
  // Set while a thread ends the capture. That thread removes the record, although the driver may
  // already report the capture as ended.
  bool is_ending = false;
  // Set once a query has shown that the capture ended directly through the driver.
  bool has_ended = false;

 private:
  stream_state* origin_state_;  // keeps the origin stream alive until the capture ends
  scoped_active_capture active_;
};

}  // namespace weir::detail
