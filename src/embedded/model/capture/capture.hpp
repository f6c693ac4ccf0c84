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

// The effect on a capture of a call that the capture does not allow: the capture becomes invalid,
// or stays as it is.
enum class capture_effect : std::uint8_t { invalidate, keep };

// How a captured kernel depends on the kernels of the frontier: by ordinary edges, or by
// programmatic edges.
enum class launch_dependency : std::uint8_t { full, programmatic };

// The effect of update_frontier(): the nodes are added to the stream's frontier, or replace it.
enum class frontier_change : std::uint8_t { add, replace };

// A capture, from its begin in a stream to its end there. Other streams join it by waiting for
// events recorded in it. Each participating stream has a frontier: the nodes that its next
// operation depends on.
//
// Objects are reused and never freed, so a stream may read its capture pointer without a lock. The
// data of a capture is guarded by the lock of the graphs (process::graphs_mutex). add(),
// add_kernel(), add_copy(), add_batch(), allocate() and free() take this lock. The caller of any
// other member holds it.
//
// Thread safety: all members may be called from any thread.
class capture {
 public:
  // cuStreamBeginCapture: captures into a new graph if `existing_graph` is null, else into that
  // graph. The first captured node then depends on `predecessors`.
  static abi::CUresult begin(stream& target_stream, abi::CUstreamCaptureMode mode,
                             graph* existing_graph = nullptr,
                             std::span<graph_node* const> predecessors = {});

  // Returns an error if no capture can begin in the stream. begin() also calls it. A caller may
  // call it before it checks other arguments.
  static abi::CUresult check_begin(const stream& target_stream);

  // cuStreamEndCapture. Sets `*out` only if the result is CUDA_SUCCESS and the graph still exists.
  // The graph may have been a body of a conditional node that was destroyed during the capture. If
  // `out` is null, the graph is destroyed, unless it belongs to a node.
  //
  // Always ends the capture, unless it began in another stream; it then becomes invalid.
  static abi::CUresult end(stream& target_stream, graph** out);

  // The result of get_info() and get_status(), for cuStreamGetCaptureInfo and cuStreamIsCapturing.
  // Stays as it is if the stream is not part of a capture. `captured_graph` stays null in an
  // invalidated capture.
  struct capture_info {
    abi::CUstreamCaptureStatus status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    graph* captured_graph = nullptr;
    // Valid until the next get_info() of the stream, or the end of the capture.
    std::span<const abi::CUgraphNode> frontier;
    std::span<const abi::CUgraphEdgeData> edges;
  };
  static void get_info(stream& target_stream, capture_info& out);
  // Like get_info(), but does not set `frontier` and `edges`. The spans of an earlier get_info()
  // stay valid.
  static void get_status(stream& target_stream, capture_info& out) noexcept;

  // cuStreamUpdateCaptureDependencies.
  static abi::CUresult update_frontier(stream& target_stream, std::span<graph_node* const> nodes,
                                       frontier_change change);

  // Returns false once a call that the capture does not allow has invalidated it.
  [[nodiscard]] bool valid() const noexcept { return valid_; }
  // Invalidates the capture because of a call that fails with `error`. Returns `error`.
  abi::CUresult invalidate(abi::CUresult error) noexcept {
    valid_ = false;
    return error;
  }

  // Adds a node that depends on the stream's frontier, and makes it the new frontier. If another
  // thread has ended the capture, submits the work to the stream instead. Returns
  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED in an invalidated capture. Throws std::bad_alloc without
  // changing anything.
  template <class Work>
  abi::CUresult add(stream& target_stream, const Work& work);

  // Like add(), for a kernel. Returns CUDA_ERROR_ILLEGAL_STATE, without submitting anything, if
  // another thread has ended the capture.
  abi::CUresult add_kernel(stream& target_stream, kernel_params params,
                           launch_dependency dependency);
  // Like add_kernel(), for a copy. Its node reports the copy as the program described it.
  abi::CUresult add_copy(stream& target_stream, const abi::CUDA_MEMCPY3D& description);
  // Like add_kernel(), for a batch of value operations.
  abi::CUresult add_batch(stream& target_stream,
                          std::span<const abi::CUstreamBatchMemOpParams> operations);

  // Like add_kernel(), for an allocation; sets `*out` to its address. Also returns the errors of
  // graph_memory::add_allocation().
  abi::CUresult allocate(stream& target_stream, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                         abi::CUdeviceptr* out);
  // Like add_kernel(), for a free. Also returns the errors of graph_memory::add_free().
  abi::CUresult free(stream& target_stream, abi::CUdeviceptr address);

  // A stream of the capture waits for an event (cuStreamWaitEvent).
  abi::CUresult wait(stream& target_stream, const event& awaited_event, unsigned flags);
  // A stream of the capture records an event (cuEventRecord).
  abi::CUresult record(event& target_event, stream& target_stream, unsigned flags);
  // A stream without a capture joins this capture, because it waits for an event recorded in it.
  abi::CUresult join_by_event(stream& joining_stream, const event& awaited_event);
  // Called when a stream of the capture is destroyed. If the capture began in that stream, ends the
  // capture and discards its graph.
  void leave(stream& closed_stream) noexcept;

 private:
  friend class capture_list;

  // A stream of the capture. If the stream is destroyed, its entry stays, with `captured_stream`
  // null, because its work must still be joined.
  struct participant {
    stream* captured_stream;
    std::vector<graph_node*> frontier;
    // The nodes that the stream added or waited for, and that must be joined by another stream
    // before the capture ends. Not used for the first stream.
    std::vector<graph_node*> unjoined;
    // The frontier and its edges, as last returned to the program.
    std::vector<abi::CUgraphNode> reported_frontier;
    std::vector<abi::CUgraphEdgeData> reported_edges;
  };

  [[nodiscard]] abi::CUresult check_end() const;
  [[nodiscard]] bool all_joined() const;
  [[nodiscard]] participant& participant_of(const stream& captured_stream) noexcept;
  template <class Make>
  abi::CUresult extend_frontier(stream& target_stream, Make make_node);
  abi::CUresult add_node(stream& target_stream, node_params params);
  void join(stream& joining_stream, std::span<graph_node* const> predecessors);
  void detach_streams() noexcept;

  bool valid_ = false;
  abi::CUstreamCaptureMode mode_ = abi::CU_STREAM_CAPTURE_MODE_GLOBAL;
  unsigned long long id_ = 0;  // unique among captures
  // The result of capture_list::this_thread_number() in the thread that began the capture.
  unsigned long long thread_ = 0;
  graph* graph_ = nullptr;                 // null if the capture is not in progress
  std::vector<participant> participants_;  // the first is the stream in which the capture began
  // For each event recorded in this capture: the frontier of its stream at the last record.
  std::unordered_map<const event*, std::vector<graph_node*>> recorded_;
};

namespace detail {
// The number of captures in progress in the process.
extern constinit std::atomic<int> active_captures;
inline bool is_capturing() noexcept { return active_captures.load(std::memory_order_acquire) != 0; }
// Invalidates the capture of the stream. Returns `error`, or success if there is none any more.
abi::CUresult invalidate_capture_of(stream& target_stream, abi::CUresult error) noexcept;
abi::CUresult check_capture_valid(const stream& target_stream) noexcept;
void leave_capture(stream& target_stream) noexcept;
abi::CUresult wait_in_capture(stream& target_stream, event& target_event, unsigned flags);
abi::CUresult record_in_capture(event& target_event, stream& target_stream, unsigned flags);
abi::CUresult check_event_not_captured(const event& target_event, capture_effect effect) noexcept;
abi::CUresult check_unsafe_call();
abi::CUresult check_context_not_capturing(const context& owner_context) noexcept;
abi::CUresult check_legacy_stream_usable(const context& owner_context,
                                         capture_effect effect) noexcept;
}  // namespace detail

// If no capture is in progress, the capture checks of the functions below cost a load or two.

// For calls that are not allowed in a capture: if the stream is part of one, invalidates it and
// returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
inline abi::CUresult check_not_capturing(stream& target_stream) noexcept {
  if (target_stream.capture() == nullptr) [[likely]]
    return abi::CUDA_SUCCESS;
  return detail::invalidate_capture_of(target_stream, abi::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

// For a call that failed with `error`: invalidates the capture of its stream, if any. Returns
// `error`.
inline abi::CUresult invalidate_capture(stream& target_stream, abi::CUresult error) noexcept {
  if (target_stream.capture() != nullptr)
    static_cast<void>(detail::invalidate_capture_of(target_stream, error));
  return error;
}

// For calls that submit work: returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if the stream is part
// of an invalidated capture.
inline abi::CUresult check_capture_valid(const stream& target_stream) noexcept {
  return target_stream.capture() == nullptr ? abi::CUDA_SUCCESS
                                            : detail::check_capture_valid(target_stream);
}

// Called when a stream is destroyed. The stream leaves its capture, if any. If the capture began in
// this stream, ends the capture.
inline void leave_capture(stream& target_stream) noexcept {
  if (target_stream.capture() != nullptr) detail::leave_capture(target_stream);
}

// cuStreamWaitEvent: makes the stream wait for the event's last record, or join the capture in
// which the event was recorded.
inline abi::CUresult wait_for_event(stream& target_stream, event& target_event, unsigned flags) {
  if (target_stream.capture() != nullptr || target_event.capture_id() != 0 || flags != 0)
      [[unlikely]]
    return detail::wait_in_capture(target_stream, target_event, flags);
  target_stream.wait(target_event.recorded_point());
  return abi::CUDA_SUCCESS;
}

// cuEventRecord: records the end of the stream's work so far, or the stream's frontier if it is
// part of a capture.
inline abi::CUresult record_event(event& target_event, stream& target_stream, unsigned flags) {
  if (target_stream.capture() != nullptr || flags != 0) [[unlikely]]
    return detail::record_in_capture(target_event, target_stream, flags);
  return target_event.record(target_stream);
}

// For host calls that query an event or wait for it. For an event that was last recorded in a valid
// capture in progress, returns CUDA_ERROR_CAPTURED_EVENT, and invalidates that capture if `effect`
// is `invalidate`. Once that capture has ended or is invalid, returns CUDA_ERROR_INVALID_VALUE
// until the event is recorded again. Returns CUDA_SUCCESS for all other events.
inline abi::CUresult check_event_not_captured(
    const event& target_event, capture_effect effect = capture_effect::invalidate) noexcept {
  return target_event.capture_id() == 0 ? abi::CUDA_SUCCESS
                                        : detail::check_event_not_captured(target_event, effect);
}

// For calls that are unsafe during captures. If a capture prohibits them by its mode and the
// thread's mode (cuThreadExchangeStreamCaptureMode), returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
// and invalidates that capture.
inline abi::CUresult check_unsafe_call() {
  return detail::is_capturing() ? detail::check_unsafe_call() : abi::CUDA_SUCCESS;
}

// For calls on all streams of a context. If a stream of the context captures, in any mode, returns
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates that capture.
inline abi::CUresult check_context_not_capturing(const context& owner_context) noexcept {
  return detail::is_capturing() ? detail::check_context_not_capturing(owner_context)
                                : abi::CUDA_SUCCESS;
}

// For use of the legacy stream. If a blocking stream of the context captures, returns
// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, and invalidates that capture if `effect` is `invalidate`.
inline abi::CUresult check_legacy_stream_usable(
    const context& owner_context, capture_effect effect = capture_effect::invalidate) noexcept {
  return detail::is_capturing() ? detail::check_legacy_stream_usable(owner_context, effect)
                                : abi::CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
