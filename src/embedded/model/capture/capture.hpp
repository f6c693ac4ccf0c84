// model/capture.hpp - stream capture: what is submitted becomes nodes of a graph instead of
// running.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/stream/event.hpp"
#include "embedded/model/stream/stream.hpp"
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

class graph;

// A capture, from its beginning in a stream to its end there. Streams join it by waiting for events
// that were recorded in it; each of them has a frontier, the nodes that its next operation will
// depend on.
//
// Objects are reused and never freed, so that a stream may look at its capture without a lock; what
// they hold is guarded by the lock of the graphs (process::graphs_mutex). The members that add work
// take it; for all others the caller holds it.
//
// Thread safety: all members, from any thread.
class capture {
 public:
  // cuStreamBeginCapture: begins one that makes a graph of its own, or adds to a given one behind
  // `predecessors`.
  static abi::CUresult begin(stream& on, abi::CUstreamCaptureMode mode);
  static abi::CUresult begin_to(stream& on, graph& into, std::vector<graph_node*> predecessors,
                                abi::CUstreamCaptureMode mode);
  // Can a capture begin in the stream? Both ask it, and so may who has arguments to look at after
  // it.
  static abi::CUresult check_begin(const stream& on);

  // cuStreamEndCapture: a graph only with CUDA_SUCCESS, and none where it was a body whose node has
  // ended meanwhile. Without `wanted` the graph is lost. Whatever the answer, the capture is over,
  // except where it did not begin in this stream.
  static abi::CUresult end(stream& on, bool wanted, graph*& out);

  // cuStreamGetCaptureInfo, cuStreamIsCapturing.
  struct capture_info {
    abi::CUstreamCaptureStatus status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    graph* into = nullptr;
    std::span<const abi::CUgraphNode>
        frontier;  // until the next question about the stream, or the capture's end
    std::span<const abi::CUgraphEdgeData> edges;
  };
  static void get_info(stream& of, capture_info& out);
  // The same but for the frontier: what an earlier question told of it stays where it is.
  static void get_status(stream& of, capture_info& out) noexcept;

  // cuStreamUpdateCaptureDependencies: replaces the frontier, or adds to it.
  static abi::CUresult update_frontier(stream& of, std::span<graph_node* const> nodes,
                                       bool replace);

  // Has it not been broken?
  [[nodiscard]] bool valid() const noexcept { return valid_; }

  // Adds a node behind the stream's frontier, and makes it the frontier.
  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED where the capture is broken. Throws std::bad_alloc, and
  // then nothing has changed.
  abi::CUresult add(stream& in, const memset_work& work);
  abi::CUresult add(stream& in, const copy_work& work);
  abi::CUresult add(stream& in, const pitched_copy_work& work);
  abi::CUresult add(stream& in, const host_work& work);
  abi::CUresult add(stream& in, const value_wait& work);
  abi::CUresult add(stream& in, const value_write& work);
  // Of a kernel, by edges that say that it may begin early where it follows kernels and is to.
  // CUDA_ERROR_ILLEGAL_STATE where another thread has ended the capture meanwhile.
  abi::CUresult add_kernel(stream& in, kernel_params params, bool programmatic);
  abi::CUresult add_batch(stream& in, std::span<const abi::CUstreamBatchMemOpParams> operations);

  // The same for memory that comes and goes when the graph is launched: what
  // graph_memory::add_allocation() and add_free() say.
  abi::CUresult allocate(stream& in, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                         abi::CUdeviceptr* out);
  abi::CUresult free(stream& in, abi::CUdeviceptr address);

  // A stream of the capture waits for an event, or records one; a stream of none waits for an event
  // that was recorded in it. With the lock of the graphs held.
  abi::CUresult wait(stream& s, const event& e, unsigned flags);
  abi::CUresult record(event& e, stream& s, unsigned flags);
  abi::CUresult join_by_event(stream& s, const event& e);

  // A stream of the capture ends. With the lock of the graphs held.
  void leave(stream& s) noexcept;

 private:
  friend class capture_list;

  // A stream of the capture. One that is destroyed stays, without its stream: its work must still
  // be joined.
  struct participant {
    stream* in;
    std::vector<graph_node*> frontier;
    std::vector<graph_node*>
        unjoined;  // of that, what it has added or waited for: it has to be joined
    std::vector<abi::CUgraphNode> reported_frontier;  // of the frontier, to one who asked
    std::vector<abi::CUgraphEdgeData> reported_edges;
  };

  static abi::CUresult begin_in(stream& on, graph* into, std::vector<graph_node*> predecessors,
                                abi::CUstreamCaptureMode mode);
  template <class Work>
  abi::CUresult add_work(stream& in, const Work& work);
  abi::CUresult add_node(stream& in, node_params params);
  template <class Make>
  abi::CUresult add_made(stream& in, Make make);
  [[nodiscard]] participant& participant_of(const stream& s) noexcept;
  void join(stream& s, std::span<graph_node* const> predecessors);
  [[nodiscard]] bool all_joined() const;
  void tear_down(bool keep_graph) noexcept;

  bool valid_ = false;
  abi::CUstreamCaptureMode mode_ = abi::CU_STREAM_CAPTURE_MODE_GLOBAL;
  unsigned long long id_ = 0;      // never the same for two captures
  unsigned long long thread_ = 0;  // that began it; never the same for two threads
  graph* graph_ = nullptr;
  std::vector<participant> participants_;  // the first is the one that it began in
  std::unordered_map<const event*, std::vector<graph_node*>>
      recorded_;  // frontiers at the last records
};

namespace detail {
extern constinit std::atomic<int> active_captures;  // of the whole process
abi::CUresult invalidate_capture_of(stream& s, abi::CUresult why) noexcept;
abi::CUresult check_capture_valid(const stream& s) noexcept;
void leave_capture(stream& s) noexcept;
abi::CUresult wait_in_capture(stream& s, event& e, unsigned flags);
abi::CUresult record_in_capture(event& e, stream& s, unsigned flags);
abi::CUresult check_event_not_captured(const event& e, bool invalidates) noexcept;
abi::CUresult check_unsafe_call();
abi::CUresult check_context_not_capturing(const context& whole) noexcept;
abi::CUresult check_legacy_stream_usable(const context& of, bool invalidates) noexcept;
}  // namespace detail

// The functions below are one load and a branch where nothing is captured.

// For what no stream of a capture may be used for: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED there, and
// the capture is broken.
inline abi::CUresult check_not_capturing(stream& s) noexcept {
  if (s.capture() == nullptr) [[likely]]
    return abi::CUDA_SUCCESS;
  return detail::invalidate_capture_of(s, abi::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

// For what was refused with this code, and breaks the capture that it was meant for. Gives the
// code.
inline abi::CUresult invalidate_capture(stream& s, abi::CUresult why) noexcept {
  return s.capture() == nullptr ? why : detail::invalidate_capture_of(s, why);
}

// For work of any kind: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED where the stream is in a capture that
// is broken.
inline abi::CUresult check_capture_valid(const stream& s) noexcept {
  return s.capture() == nullptr ? abi::CUDA_SUCCESS : detail::check_capture_valid(s);
}

// The stream ends. The capture that began in it ends with it.
inline void leave_capture(stream& s) noexcept {
  if (s.capture() != nullptr) detail::leave_capture(s);
}

// cuStreamWaitEvent: waits for the point that the event was last recorded at, or joins the capture
// that it was recorded in.
inline abi::CUresult wait_for_event(stream& s, event& e, unsigned flags) {
  if (s.capture() != nullptr || e.capture_id() != 0 || flags != 0) [[unlikely]]
    return detail::wait_in_capture(s, e, flags);
  s.wait(e.recorded_point());
  return abi::CUDA_SUCCESS;
}

// cuEventRecord: records the point that the stream has come to, or the frontier that it has in its
// capture.
inline abi::CUresult record_event(event& e, stream& s, unsigned flags) {
  if (s.capture() != nullptr || flags != 0) [[unlikely]]
    return detail::record_in_capture(e, s, flags);
  return e.record(s);
}

// For calls that look at an event from the host: one that was recorded in a capture is
// CUDA_ERROR_CAPTURED_EVENT, which breaks the capture unless `invalidates` is false; after the
// capture it is CUDA_ERROR_INVALID_VALUE, until it is recorded again.
inline abi::CUresult check_event_not_captured(const event& e, bool invalidates = true) noexcept {
  return e.capture_id() == 0 ? abi::CUDA_SUCCESS : detail::check_event_not_captured(e, invalidates);
}

// For calls that are unsafe while somebody captures, as far as the capture modes prohibit them
// (cuThreadExchangeStreamCaptureMode): CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures that
// prohibit them are broken.
inline abi::CUresult check_unsafe_call() {
  return detail::active_captures.load(std::memory_order_acquire) == 0 ? abi::CUDA_SUCCESS
                                                                      : detail::check_unsafe_call();
}

// For calls that concern all streams of a context: the same where any of them captures, in every
// mode.
inline abi::CUresult check_context_not_capturing(const context& whole) noexcept {
  return detail::active_captures.load(std::memory_order_acquire) == 0
             ? abi::CUDA_SUCCESS
             : detail::check_context_not_capturing(whole);
}

// For use of the legacy stream: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT where a blocking stream of the
// context captures, which breaks the capture unless `invalidates` is false.
inline abi::CUresult check_legacy_stream_usable(const context& of,
                                                bool invalidates = true) noexcept {
  return detail::active_captures.load(std::memory_order_acquire) == 0
             ? abi::CUDA_SUCCESS
             : detail::check_legacy_stream_usable(of, invalidates);
}

}  // namespace weir::embedded::model
