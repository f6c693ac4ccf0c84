// SPDX-License-Identifier: Apache-2.0
// model/capture/capture.hpp - stream capture: submitted work becomes graph nodes and does not run.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/stream/event.hpp"
#include "embedded/model/stream/operations.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

class graph;

// A capture, from its begin in a stream to its end there. Other streams join it by waiting for
// events recorded in it. Each participating stream has a frontier: the nodes that its next
// operation depends on.
//
// Objects are reused and never freed, so a stream may read its capture pointer without a lock. The
// data of a capture is guarded by the lock of the graphs (process::graphs_mutex). The members that
// add work take this lock; for all other members the caller holds it.
//
// Thread safety: all members may be called from any thread.
class capture {
 public:
  // cuStreamBeginCapture: begin() captures into a new graph, begin_to() into `into`, after
  // `predecessors`.
  static abi::CUresult begin(stream& target_stream, abi::CUstreamCaptureMode mode);
  static abi::CUresult begin_to(stream& target_stream, graph& into,
                                std::vector<graph_node*> predecessors,
                                abi::CUstreamCaptureMode mode);
  // Returns an error if no capture can begin in the stream. begin() and begin_to() call it. A
  // caller with other arguments to check may call it first.
  static abi::CUresult check_begin(const stream& target_stream);

  // cuStreamEndCapture. Sets `out` only with CUDA_SUCCESS, and only if the graph still exists: it
  // may be a conditional body whose node was destroyed during the capture. If `requested` is false,
  // the graph is destroyed.
  //
  // Always ends the capture, unless it began in another stream.
  static abi::CUresult end(stream& target_stream, bool requested, graph*& out);

  // For cuStreamGetCaptureInfo and cuStreamIsCapturing.
  struct capture_info {
    abi::CUstreamCaptureStatus status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    graph* into = nullptr;
    // Valid until the next get_info() of the stream, or the end of the capture.
    std::span<const abi::CUgraphNode> frontier;
    std::span<const abi::CUgraphEdgeData> edges;
  };
  static void get_info(stream& of, capture_info& out);
  // Like get_info(), but without the frontier. Earlier frontiers stay valid.
  static void get_status(stream& of, capture_info& out) noexcept;

  // cuStreamUpdateCaptureDependencies: replaces the frontier, or adds to it.
  static abi::CUresult update_frontier(stream& of, std::span<graph_node* const> nodes,
                                       bool replace);

  // Returns true until the capture is invalidated.
  [[nodiscard]] bool valid() const noexcept { return valid_; }

  // Adds a node after the stream's frontier, and makes it the new frontier. Returns
  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED in an invalidated capture. Throws std::bad_alloc without
  // changing anything.
  abi::CUresult add(stream& in, const memset_work& work);
  abi::CUresult add(stream& in, const copy_work& work);
  abi::CUresult add(stream& in, const pitched_copy_work& work);
  abi::CUresult add(stream& in, const host_work& work);
  abi::CUresult add(stream& in, const value_wait& work);
  abi::CUresult add(stream& in, const value_write& work);
  // Add a kernel or a batch of value operations. If `programmatic`, edges from preceding kernels
  // become programmatic dependencies. Return CUDA_ERROR_ILLEGAL_STATE if another thread has ended
  // the capture.
  abi::CUresult add_kernel(stream& in, kernel_params params, bool programmatic);
  abi::CUresult add_batch(stream& in, std::span<const abi::CUstreamBatchMemOpParams> operations);

  // Add allocation and free nodes; see graph_memory::add_allocation() and add_free().
  abi::CUresult allocate(stream& in, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                         abi::CUdeviceptr* out);
  abi::CUresult free(stream& in, abi::CUdeviceptr address);

  // wait() and record(): a stream of the capture waits for an event or records it. join_by_event():
  // a stream without a capture joins by waiting for an event of this capture. Require the lock of
  // the graphs.
  abi::CUresult wait(stream& s, const event& e, unsigned flags);
  abi::CUresult record(event& e, stream& s, unsigned flags);
  abi::CUresult join_by_event(stream& s, const event& e);

  // Removes a stream that is being destroyed from the capture. Requires the lock of the graphs.
  void leave(stream& s) noexcept;

 private:
  friend class capture_list;

  // A stream of the capture. If the stream is destroyed, its entry stays with a null stream,
  // because its work must still be joined.
  struct participant {
    stream* in;
    std::vector<graph_node*> frontier;
    // The nodes that it added or waited for, and that must still be joined.
    std::vector<graph_node*> unjoined;
    // The frontier and its edges, as last returned to the program.
    std::vector<abi::CUgraphNode> reported_frontier;
    std::vector<abi::CUgraphEdgeData> reported_edges;
  };

  static abi::CUresult begin_in(stream& target_stream, graph* into,
                                std::vector<graph_node*> predecessors,
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
  unsigned long long id_ = 0;      // unique among captures
  unsigned long long thread_ = 0;  // the number of the thread that began it; unique among threads
  graph* graph_ = nullptr;
  std::vector<participant> participants_;  // the first is the stream that it began in
  // The frontiers at the last records.
  std::unordered_map<const event*, std::vector<graph_node*>> recorded_;
};

namespace detail {
extern constinit std::atomic<int> active_captures;  // in the whole process
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

// If nothing is captured, the functions below cost one load and a branch.

// For calls that are not allowed in a capture: returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and
// invalidates the capture.
inline abi::CUresult check_not_capturing(stream& s) noexcept {
  if (s.capture() == nullptr) [[likely]]
    return abi::CUDA_SUCCESS;
  return detail::invalidate_capture_of(s, abi::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

// For a call that failed with `why`: invalidates the capture of its stream, if any. Returns `why`.
inline abi::CUresult invalidate_capture(stream& s, abi::CUresult why) noexcept {
  return s.capture() == nullptr ? why : detail::invalidate_capture_of(s, why);
}

// For work of any kind: returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if the stream's capture is
// invalidated.
inline abi::CUresult check_capture_valid(const stream& s) noexcept {
  return s.capture() == nullptr ? abi::CUDA_SUCCESS : detail::check_capture_valid(s);
}

// Called when a stream is destroyed. Also ends the capture that began in the stream.
inline void leave_capture(stream& s) noexcept {
  if (s.capture() != nullptr) detail::leave_capture(s);
}

// cuStreamWaitEvent: waits for the point that the event last recorded, or joins the capture that it
// was recorded in.
inline abi::CUresult wait_for_event(stream& s, event& e, unsigned flags) {
  if (s.capture() != nullptr || e.capture_id() != 0 || flags != 0) [[unlikely]]
    return detail::wait_in_capture(s, e, flags);
  s.wait(e.recorded_point());
  return abi::CUDA_SUCCESS;
}

// cuEventRecord: records the stream's current point, or its frontier in its capture.
inline abi::CUresult record_event(event& e, stream& s, unsigned flags) {
  if (s.capture() != nullptr || flags != 0) [[unlikely]]
    return detail::record_in_capture(e, s, flags);
  return e.record(s);
}

// For host calls that read an event. Returns CUDA_ERROR_CAPTURED_EVENT for an event recorded in a
// capture, and invalidates that capture unless `invalidates` is false. Once the capture has ended,
// returns CUDA_ERROR_INVALID_VALUE until the event is recorded again.
inline abi::CUresult check_event_not_captured(const event& e, bool invalidates = true) noexcept {
  return e.capture_id() == 0 ? abi::CUDA_SUCCESS : detail::check_event_not_captured(e, invalidates);
}

// For calls that are unsafe during captures. If a capture prohibits them by its mode and the
// thread's mode (cuThreadExchangeStreamCaptureMode), returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
// and invalidates that capture.
inline abi::CUresult check_unsafe_call() {
  return detail::active_captures.load(std::memory_order_acquire) == 0 ? abi::CUDA_SUCCESS
                                                                      : detail::check_unsafe_call();
}

// For calls on all streams of a context. If one of them captures, in any mode, returns
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates that capture.
inline abi::CUresult check_context_not_capturing(const context& whole) noexcept {
  return detail::active_captures.load(std::memory_order_acquire) == 0
             ? abi::CUDA_SUCCESS
             : detail::check_context_not_capturing(whole);
}

// For use of the legacy stream. If a blocking stream of the context captures, returns
// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT and invalidates that capture, unless `invalidates` is false.
inline abi::CUresult check_legacy_stream_usable(const context& of,
                                                bool invalidates = true) noexcept {
  return detail::active_captures.load(std::memory_order_acquire) == 0
             ? abi::CUDA_SUCCESS
             : detail::check_legacy_stream_usable(of, invalidates);
}

}  // namespace weir::embedded::model
