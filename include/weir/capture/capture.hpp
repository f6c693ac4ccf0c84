// SPDX-License-Identifier: Apache-2.0
// weir/capture/capture.hpp - stream capture: records the operations of streams into a graph instead
// of running them.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

// During a capture the operations of a stream become nodes of a graph. None of them runs: data do
// not change until the graph is launched. A stream that waits for an event of a capturing stream
// joins the capture. Before the capture ends, the stream that began it has to wait for every joined
// stream, directly or through other streams.
//
// A driver invalidates the capture at calls that are not allowed in it: syncs, queries, graph
// launches and others (docs/guide/capture.md lists them). weir rejects such a call without calling
// the driver, so the capture stays valid. A capture can still be invalidated by a call made
// directly through the driver, or by a call whose error only the driver detects. The end of the
// capture then reports which call invalidated it.

/// Selects the threads on which the driver rejects calls that could disturb the capture. weir's own
/// calls disturb no capture and are accepted in every mode. The numbers are the driver's.
enum class capture_mode : unsigned {
  /// Rejects calls on the capturing thread, and on all threads that are not in a relaxed capture
  /// themselves.
  global = 0,
  own_thread = 1,  ///< rejects calls on the capturing thread only
  /// Rejects no calls on any thread. Only a relaxed capture may end on a thread other than the
  /// thread that began it.
  relaxed = 2,
};

/// The capture state of a stream.
enum class capture_status : unsigned {
  none = 0,         ///< the stream does not capture
  active = 1,       ///< the stream captures
  invalidated = 2,  ///< a call invalidated the capture; it still has to be ended
};

/// Options for a capture.
struct capture_options {
  capture_mode mode = capture_mode::own_thread;
  /// If true, the end of the capture makes the stream that began it wait for every joined stream.
  /// If false, the end throws `stream_capture_unjoined`, naming the joined streams for which it did
  /// not wait.
  bool join_forks = false;
};

class capture_scope;

namespace detail {

template <class Body>
concept capture_body = std::is_invocable_v<Body, capture_scope&> || std::is_invocable_v<Body>;

struct active_capture;

/// Begins a capture; finish() ends it. If finish() did not succeed, the destructor ends the capture
/// and destroys the graph.
class WEIR_EXPORT scoped_capture {
 public:
  scoped_capture(stream_ref stream, capture_options options, call_site at);
  scoped_capture(const scoped_capture&) = delete;
  scoped_capture& operator=(const scoped_capture&) = delete;
  ~scoped_capture();
  /// Ends the capture and returns the graph. Throws as capture().
  [[nodiscard]] graph finish();
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  [[nodiscard]] graph_ref in_progress() const noexcept { return graph_; }

 protected:
  explicit scoped_capture(const active_capture& begun) noexcept;

  stream_ref stream_;
  graph_ref graph_;
  unsigned long long id_;  ///< capture_info::id
  call_site at_;
  bool open_ = true;  ///< false after finish() has ended the capture
};

}  // namespace detail

/// The argument of the body of capture(): the capturing stream and the graph in progress. It can be
/// used only on the thread of the body, and only during the body.
class capture_scope {
 public:
  capture_scope(stream_ref stream, graph_ref in_progress) noexcept
      : stream_{stream}, graph_{in_progress} {}
  capture_scope(const capture_scope&) = delete;
  capture_scope& operator=(const capture_scope&) = delete;

  /// Returns the capturing stream.
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  /// Converts to the capturing stream.
  operator stream_ref() const noexcept { return stream(); }

  /// Returns the graph recorded so far. Nodes may be added to it but not removed. It can be
  /// instantiated after the end of the capture.
  [[nodiscard]] graph_ref graph() const noexcept { return graph_; }

  /// Keeps an owner alive until the graph, its clones and all their executables are destroyed and
  /// their launches have finished, like graph_ref::keep().
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    graph().keep(std::forward<Owner>(owner), at);
  }

 private:
  stream_ref stream_;
  graph_ref graph_;
};

namespace detail {

template <capture_body Body>
void run_capture_body(Body&& body, stream_ref stream, graph_ref in_progress) {
  if constexpr (std::is_invocable_v<Body, capture_scope&>) {
    capture_scope scope{stream, in_progress};
    static_cast<void>(std::forward<Body>(body)(scope));
  } else {
    static_cast<void>(std::forward<Body>(body)());
  }
}

}  // namespace detail

/// Runs body(scope) or body(), and returns the graph of the operations that were queued meanwhile
/// in the stream and in the streams that joined it. Work that was queued before continues and is
/// not part of the graph. The capture always ends before this call returns or throws, and the
/// streams then run their work again.
///
///   weir::graph g = weir::capture(s, [&](weir::capture_scope& in) {
///     weir::fill(in, x, 0.0f);  // recorded, not run
///   });
///   weir::graph_exec exec = g.instantiate();  // weir/graph/graph_exec.hpp
///   exec.launch(s);
///
/// Throws: the exception of the body; the recorded operations are then discarded. Otherwise
/// `stream_capture_invalidated` if the capture was invalidated; the text names the first call that
/// invalidated it. Otherwise `stream_capture_unjoined`, naming the streams that were not joined.
/// Throws before the capture begins: `stream_capture_unsupported` for the legacy stream, and
/// `illegal_state` for a stream that captures already. The capture of that stream stays valid.
/// In a host function: throws `not_permitted`.
/// Thread safety: may be called for different streams from different threads.
/// Driver: cuStreamBeginCapture, cuStreamGetCaptureInfo, cuStreamEndCapture.
template <detail::capture_body Body>
[[nodiscard]] graph capture(stream_ref stream, Body&& body, capture_options options = {},
                            call_site at = call_site::current()) {
  detail::scoped_capture running{stream, options, at};
  detail::run_capture_body(std::forward<Body>(body), running.stream(), running.in_progress());
  return running.finish();
}

/// Begins a capture that end_capture() ends, for code in which the begin and the end of a capture
/// cannot be in one block. Prefer capture(): a capture that is not ended keeps the stream
/// capturing, and delays weir's deferred destruction.
///
/// Throws: `stream_capture_unsupported` for the legacy stream, and `illegal_state` for a stream
/// that captures already.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamBeginCapture, cuStreamGetCaptureInfo.
WEIR_EXPORT void begin_capture(stream_ref stream, capture_options options = {},
                               call_site at = call_site::current());

/// Ends a capture and returns the graph. It can also end a capture that was started directly
/// through the driver, if its graph has no other owner; the driver's own checks apply then. The
/// capture is over after this call, even if it throws, except in the following cases.
///
/// Throws: as capture(). The capture stays valid in three cases. Throws `stream_capture_unmatched`
/// if the stream only joined the capture. Throws `illegal_state` if the stream does not capture, or
/// if capture() or end_capture_to() has to end the capture. Throws `stream_capture_wrong_thread` on
/// another thread, unless the capture is relaxed. If the thread that began such a capture has
/// ended, no thread can return its graph, and this call discards the capture. In a host function:
/// throws `not_permitted`. Driver: cuStreamEndCapture.
[[nodiscard]] WEIR_EXPORT graph end_capture(stream_ref stream, call_site at = call_site::current());

/// Returns the capture state of a stream.
///
/// Throws: `stream_capture_implicit` for the legacy stream while a blocking stream captures.
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamIsCapturing.
[[nodiscard]] WEIR_EXPORT capture_status capture_status_of(stream_ref stream,
                                                           call_site at = call_site::current());

/// A node on which the next operation of a capturing stream depends, and the data of the edge
/// between them.
struct capture_dependency {
  graph_node node;
  edge_data data;
};

/// The capture that a stream takes part in. All streams of a capture have one id and one graph. The
/// capture owns the graph; the reference is valid only while status is active.
struct capture_info {
  capture_status status = capture_status::none;
  unsigned long long id = 0;  ///< never reused in the process; 0 unless active
  graph_ref graph{nullptr};
  /// The nodes on which the next operation of the stream depends, in no particular order.
  std::vector<capture_dependency> frontier;
};

/// Returns the capture that a stream takes part in.
///
/// Throws: `lossy_query` if an edge has data and the driver is older than CUDA 12.3, which cannot
/// return edge data.
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamGetCaptureInfo.
[[nodiscard]] WEIR_EXPORT capture_info capture_info_of(stream_ref stream,
                                                       call_site at = call_site::current());

/// Sets the calling thread's capture mode until the end of the block. The mode decides which of the
/// thread's calls the driver rejects while other threads capture. A new thread is in global mode.
/// Use `relaxed` for a thread whose calls harm no capture, such as an allocator or a logger. Only
/// calls made directly through the driver need this mode; weir's own calls are safe without it.
/// Objects nest. Destroy each object on the thread that created it.
///
/// Driver: cuThreadExchangeStreamCaptureMode.
class WEIR_EXPORT thread_capture_mode {
 public:
  /// Sets the mode.
  [[nodiscard]] explicit thread_capture_mode(capture_mode mode,
                                             call_site at = call_site::current());
  thread_capture_mode(const thread_capture_mode&) = delete;
  thread_capture_mode& operator=(const thread_capture_mode&) = delete;
  /// Restores the previous mode.
  ~thread_capture_mode();

  /// Returns the mode that the thread had before.
  [[nodiscard]] capture_mode previous() const noexcept { return previous_; }

 private:
  capture_mode previous_;
};

}  // namespace weir
