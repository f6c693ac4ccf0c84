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

// What a call that a capture does not allow does to that capture.
enum class capture_effect : std::uint8_t { invalidate, keep };

// How a kernel depends on the kernels before it: fully, or by programmatic edges.
enum class launch_dependency : std::uint8_t { full, programmatic };

enum class frontier_change : std::uint8_t { add, replace };

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
  // cuStreamBeginCapture: captures into a new graph, or into an existing one after `predecessors`.
  static abi::CUresult begin(stream& target_stream, abi::CUstreamCaptureMode mode,
                             graph* existing_graph = nullptr,
                             std::span<graph_node* const> predecessors = {});

  // Returns an error if no capture can begin in the stream. begin() calls it. A caller with other
  // arguments to check may call it first.
  static abi::CUresult check_begin(const stream& target_stream);

  // cuStreamEndCapture. Sets `*out` only with CUDA_SUCCESS, and only if the graph still exists: it
  // may be a conditional body whose node was destroyed during the capture. If `out` is null, the
  // graph is destroyed.
  //
  // Always ends the capture, unless it began in another stream.
  static abi::CUresult end(stream& target_stream, graph** out);

  // For cuStreamGetCaptureInfo and cuStreamIsCapturing.
  struct capture_info {
    abi::CUstreamCaptureStatus status = abi::CU_STREAM_CAPTURE_STATUS_NONE;
    unsigned long long id = 0;
    graph* captured_graph = nullptr;
    // Valid until the next get_info() of the stream, or the end of the capture.
    std::span<const abi::CUgraphNode> frontier;
    std::span<const abi::CUgraphEdgeData> edges;
  };
  static void get_info(stream& target_stream, capture_info& out);
  // Like get_info(), but without the frontier. Earlier frontiers stay valid.
  static void get_status(stream& target_stream, capture_info& out) noexcept;

  // cuStreamUpdateCaptureDependencies.
  static abi::CUresult update_frontier(stream& target_stream, std::span<graph_node* const> nodes,
                                       frontier_change change);

  // Returns true until the capture is invalidated.
  [[nodiscard]] bool valid() const noexcept { return valid_; }

  // Adds a node after the stream's frontier, and makes it the new frontier. Returns
  // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED in an invalidated capture. Throws std::bad_alloc without
  // changing anything.
  template <class Work>
  abi::CUresult add(stream& target_stream, const Work& work);

  // Add a kernel or a batch of value operations. Return CUDA_ERROR_ILLEGAL_STATE if another thread
  // has ended the capture.
  abi::CUresult add_kernel(stream& target_stream, kernel_params params,
                           launch_dependency dependency);
  abi::CUresult add_batch(stream& target_stream,
                          std::span<const abi::CUstreamBatchMemOpParams> operations);

  // Add allocation and free nodes; see graph_memory::add_allocation() and add_free().
  abi::CUresult allocate(stream& target_stream, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                         abi::CUdeviceptr* out);
  abi::CUresult free(stream& target_stream, abi::CUdeviceptr address);

  // wait() and record(): a stream of the capture waits for an event or records it. join_by_event():
  // a stream without a capture joins by waiting for an event of this capture. leave(): a stream is
  // destroyed.
  abi::CUresult wait(stream& target_stream, const event& awaited_event, unsigned flags);
  abi::CUresult record(event& target_event, stream& target_stream, unsigned flags);
  abi::CUresult join_by_event(stream& joining_stream, const event& awaited_event);
  void leave(stream& closed_stream) noexcept;

 private:
  friend class capture_list;

  // A stream of the capture. If the stream is destroyed, its entry stays with a null stream,
  // because its work must still be joined.
  struct participant {
    stream* captured_stream;
    std::vector<graph_node*> frontier;
    // The nodes that it added or waited for, and that must still be joined.
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
  unsigned long long id_ = 0;      // unique among captures
  unsigned long long thread_ = 0;  // the number of the thread that began it; unique among threads
  graph* graph_ = nullptr;
  std::vector<participant> participants_;  // the first is the stream that it began in
  // The frontiers at the last records.
  std::unordered_map<const event*, std::vector<graph_node*>> recorded_;
};

namespace detail {
extern constinit std::atomic<int> active_captures;  // in the whole process
inline bool is_capturing() noexcept { return active_captures.load(std::memory_order_acquire) != 0; }
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

// If nothing is captured, the functions below cost one load and a branch.

// For calls that are not allowed in a capture: returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and
// invalidates the capture.
inline abi::CUresult check_not_capturing(stream& target_stream) noexcept {
  if (target_stream.capture() == nullptr) [[likely]]
    return abi::CUDA_SUCCESS;
  return detail::invalidate_capture_of(target_stream, abi::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

// For a call that failed with `error`: invalidates the capture of its stream, if any. Returns
// `error`.
inline abi::CUresult invalidate_capture(stream& target_stream, abi::CUresult error) noexcept {
  return target_stream.capture() == nullptr ? error
                                            : detail::invalidate_capture_of(target_stream, error);
}

// For work of any kind: returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if the stream's capture is
// invalidated.
inline abi::CUresult check_capture_valid(const stream& target_stream) noexcept {
  return target_stream.capture() == nullptr ? abi::CUDA_SUCCESS
                                            : detail::check_capture_valid(target_stream);
}

// Called when a stream is destroyed. Also ends the capture that began in the stream.
inline void leave_capture(stream& target_stream) noexcept {
  if (target_stream.capture() != nullptr) detail::leave_capture(target_stream);
}

// cuStreamWaitEvent: waits for the point that the event last recorded, or joins the capture that it
// was recorded in.
inline abi::CUresult wait_for_event(stream& target_stream, event& target_event, unsigned flags) {
  if (target_stream.capture() != nullptr || target_event.capture_id() != 0 || flags != 0)
      [[unlikely]]
    return detail::wait_in_capture(target_stream, target_event, flags);
  target_stream.wait(target_event.recorded_point());
  return abi::CUDA_SUCCESS;
}

// cuEventRecord: records the stream's current point, or its frontier in its capture.
inline abi::CUresult record_event(event& target_event, stream& target_stream, unsigned flags) {
  if (target_stream.capture() != nullptr || flags != 0) [[unlikely]]
    return detail::record_in_capture(target_event, target_stream, flags);
  return target_event.record(target_stream);
}

// For host calls that read an event. Returns CUDA_ERROR_CAPTURED_EVENT for an event recorded in a
// capture that is in progress, and CUDA_ERROR_INVALID_VALUE after that capture's end until the
// event is recorded again.
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

// For calls on all streams of a context. If one of them captures, in any mode, returns
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates that capture.
inline abi::CUresult check_context_not_capturing(const context& owner_context) noexcept {
  return detail::is_capturing() ? detail::check_context_not_capturing(owner_context)
                                : abi::CUDA_SUCCESS;
}

// For use of the legacy stream. If a blocking stream of the context captures, returns
// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT.
inline abi::CUresult check_legacy_stream_usable(
    const context& owner_context, capture_effect effect = capture_effect::invalidate) noexcept {
  return detail::is_capturing() ? detail::check_legacy_stream_usable(owner_context, effect)
                                : abi::CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
