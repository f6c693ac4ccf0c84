// SPDX-License-Identifier: Apache-2.0
// model/capture/capture.cpp - begins and ends captures, adds their nodes, and joins streams through
// events.
#include "embedded/model/capture/capture.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "embedded/model/capture/capture_list.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/graph/node_work.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

void add_missing(std::vector<graph_node*>& list, std::span<graph_node* const> nodes) {
  for (graph_node* node : nodes) {
    if (std::ranges::find(list, node) == list.end()) list.push_back(node);
  }
}

// Destroys the graph of a capture that failed or whose result is not wanted, even if the program
// supplied the graph. A subgraph is not destroyed; it only loses its nodes. If the program has
// already destroyed the node that owns the graph (graph::orphaned_root()), destroys the outermost
// graph once no other capture adds nodes to it or to its subgraphs.
void discard(graph& captured_graph) noexcept {
  if (graph* const orphaned_root = captured_graph.orphaned_root()) {
    if (!orphaned_root->has_capture_inside()) orphaned_root->destroy();
  } else if (captured_graph.is_subgraph()) {
    captured_graph.clear();
  } else {
    captured_graph.destroy();
  }
}

}  // namespace

CUresult capture::check_begin(const stream& target_stream) {
  if (target_stream.role() == stream_role::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return target_stream.capture() != nullptr ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult capture::begin(stream& target_stream, CUstreamCaptureMode mode, graph* existing_graph,
                        std::span<graph_node* const> predecessors) {
  if (const CUresult error = check_begin(target_stream)) return error;
  if (existing_graph != nullptr && existing_graph->capturing()) return CUDA_ERROR_ILLEGAL_STATE;

  capture& created = capture_list::instance().unused();
  created.participants_.clear();  // left by a begin() that ran out of memory
  created.participants_.push_back({&target_stream, {}, {}, {}, {}});
  add_missing(created.participants_.front().frontier, predecessors);
  created.graph_ = existing_graph != nullptr ? existing_graph : &graph::make();
  created.graph_->begin_capture();
  created.valid_ = true;
  created.mode_ = mode;
  created.thread_ = capture_list::this_thread_number();
  static unsigned long long last_id = 0;  // guarded by the lock of the graphs
  created.id_ = ++last_id;
  detail::active_captures.fetch_add(1, std::memory_order_release);
  target_stream.set_capture(&created);
  return CUDA_SUCCESS;
}

CUresult capture::end(stream& target_stream, graph** out) {
  capture* const ending = target_stream.capture();
  if (ending == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (ending->participants_.front().captured_stream != &target_stream)
    return ending->invalidate(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);

  const CUresult status = ending->check_end();
  graph& captured_graph = *ending->graph_;
  ending->detach_streams();
  if (status == CUDA_SUCCESS && (out != nullptr || captured_graph.is_subgraph()) &&
      captured_graph.orphaned_root() == nullptr) {
    if (out != nullptr) *out = &captured_graph;
  } else {
    discard(captured_graph);
  }
  return status;
}

// Returns CUDA_SUCCESS, or the reason why the capture fails when the calling thread ends it now.
CUresult capture::check_end() const {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!all_joined()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (mode_ != CU_STREAM_CAPTURE_MODE_RELAXED && thread_ != capture_list::this_thread_number())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  return CUDA_SUCCESS;
}

// Ends the capture and releases all its streams. The caller keeps or discards the graph.
void capture::detach_streams() noexcept {
  for (const participant& entry : participants_) {
    if (entry.captured_stream != nullptr) entry.captured_stream->set_capture(nullptr);
  }
  participants_.clear();
  recorded_.clear();
  std::exchange(graph_, nullptr)->end_capture();
  detail::active_captures.fetch_sub(1, std::memory_order_release);
}

// Returns true if the work of every stream is joined. A node is joined if another node depends on
// it, even a node that the program added explicitly, or if the first stream's frontier contains it.
// As observed on an H200, the dependents of a node need not lead to the end of the first stream.
bool capture::all_joined() const {
  const std::vector<graph_node*>& first = participants_.front().frontier;
  return std::ranges::all_of(participants_, [&](const participant& entry) {
    return &entry == &participants_.front() ||
           std::ranges::all_of(entry.unjoined, [&](const graph_node* node) {
             return !node->dependents.empty() || std::ranges::find(first, node) != first.end();
           });
  });
}

void capture::get_status(stream& target_stream, capture_info& out) noexcept {
  const capture* const active = target_stream.capture();
  if (active == nullptr) return;
  out.id = active->graph_->number();
  out.status =
      active->valid_ ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  if (active->valid_) out.captured_graph = active->graph_;
}

void capture::get_info(stream& target_stream, capture_info& out) {
  get_status(target_stream, out);
  if (out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  participant& entry = target_stream.capture()->participant_of(target_stream);
  entry.reported_frontier.clear();
  for (const graph_node* node : entry.frontier) entry.reported_frontier.push_back(node->handle());
  entry.reported_edges.assign(entry.reported_frontier.size(), {});
  out.frontier = entry.reported_frontier;
  out.edges = entry.reported_edges;
}

CUresult capture::update_frontier(stream& target_stream, std::span<graph_node* const> nodes,
                                  frontier_change change) {
  capture* const active = target_stream.capture();
  if (active == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (!active->valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const auto is_elsewhere = [&](const graph_node* node) { return node->owner != active->graph_; };
  if (std::ranges::any_of(nodes, is_elsewhere)) return CUDA_ERROR_INVALID_VALUE;
  participant& entry = active->participant_of(target_stream);
  std::vector<graph_node*> updated;
  if (change == frontier_change::add) updated = entry.frontier;
  add_missing(updated, nodes);
  if (change == frontier_change::replace) {
    // CUDA's rule: nodes that this call removes from a frontier need not be joined. Nodes in the
    // first stream's frontier may still be unjoined in the stream that added them (join()).
    if (&entry == &active->participants_.front()) {
      for (participant& other : active->participants_) {
        for (graph_node* const node : entry.frontier) std::erase(other.unjoined, node);
      }
    }
    entry.unjoined.clear();
  }
  entry.frontier = std::move(updated);
  return CUDA_SUCCESS;
}

capture::participant& capture::participant_of(const stream& captured_stream) noexcept {
  return *std::ranges::find(participants_, &captured_stream, &participant::captured_stream);
}

// Makes the next work of a stream depend on nodes. A stream without a capture becomes a
// participant.
void capture::join(stream& joining_stream, std::span<graph_node* const> predecessors) {
  if (joining_stream.capture() == nullptr) {
    participants_.push_back({&joining_stream, {}, {}, {}, {}});
    joining_stream.set_capture(this);
  }
  participant& entry = participant_of(joining_stream);
  add_missing(entry.frontier, predecessors);
  if (&entry == &participants_.front()) return;  // all_joined() reads this frontier itself
  entry.unjoined.reserve(entry.unjoined.size() + predecessors.size());
  // These nodes are now joined with the joining stream, so they need no longer be joined from their
  // own streams.
  for (participant& other : participants_) {
    if (&other == &entry || &other == &participants_.front()) continue;
    for (graph_node* const node : predecessors) {
      if (std::erase(other.unjoined, node) != 0) entry.unjoined.push_back(node);
    }
  }
}

// Adds the node that make_node(frontier, node) creates, and makes it the stream's frontier.
template <class Make>
CUresult capture::extend_frontier(stream& target_stream, Make make_node) {
  if (target_stream.capture() != this) return CUDA_ERROR_ILLEGAL_STATE;
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  participant& entry = participant_of(target_stream);
  entry.frontier.reserve(1);
  entry.unjoined.reserve(1);
  graph_node* created = nullptr;
  if (const CUresult error = make_node(entry.frontier, created)) return error;
  entry.frontier.assign(1, created);
  entry.unjoined.assign(1, created);
  return CUDA_SUCCESS;
}

CUresult capture::add_node(stream& target_stream, node_params params) {
  return extend_frontier(target_stream,
                         [&](std::span<graph_node* const> predecessors, graph_node*& created) {
                           created = &graph_->add(std::move(params), predecessors);
                           return CUDA_SUCCESS;
                         });
}

template <class Work>
CUresult capture::add(stream& target_stream, const Work& work) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (target_stream.capture() == this)
      return add_node(target_stream, params_of(work, target_stream.owner()));
  }
  return target_stream.submit(work);  // another thread has ended the capture, so the work runs
}

template CUresult capture::add(stream&, const memset_work&);
template CUresult capture::add(stream&, const copy_work&);
template CUresult capture::add(stream&, const pitched_copy_work&);
template CUresult capture::add(stream&, const host_work&);
template CUresult capture::add(stream&, const value_wait&);
template CUresult capture::add(stream&, const value_write&);

CUresult capture::add_kernel(stream& target_stream, kernel_params params,
                             launch_dependency dependency) {
  const std::lock_guard lock{this_process().graphs_mutex};
  const CUresult status = add_node(target_stream, std::move(params));
  if (status != CUDA_SUCCESS || dependency == launch_dependency::full) return status;
  graph_node& added = *participant_of(target_stream).frontier.front();
  constexpr CUgraphEdgeData data{
      CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
  try {
    for (const graph_node* predecessor : added.dependencies) {
      if (graph::allows_edge(*predecessor, added, data))
        graph::set_edge_data(*predecessor, added, data);
    }
  } catch (const std::bad_alloc&) {  // the other edges stay full dependencies, which are stricter
  }
  return status;
}

CUresult capture::add_copy(stream& target_stream, const CUDA_MEMCPY3D& description) {
  const std::lock_guard lock{this_process().graphs_mutex};
  return add_node(target_stream, copy_params{description, target_stream.owner().handle()});
}

CUresult capture::add_batch(stream& target_stream,
                            std::span<const CUstreamBatchMemOpParams> operations) {
  const std::lock_guard lock{this_process().graphs_mutex};
  return add_node(target_stream, value_params{target_stream.owner().handle(),
                                              {operations.begin(), operations.end()}});
}

CUresult capture::allocate(stream& target_stream, const CUDA_MEM_ALLOC_NODE_PARAMS& params,
                           CUdeviceptr* out) {
  const std::lock_guard lock{this_process().graphs_mutex};
  return extend_frontier(target_stream, [&](std::span<graph_node* const> predecessors,
                                            graph_node*& created) {
    const CUresult status = graph_memory::add_allocation(*graph_, params, predecessors, created);
    if (status == CUDA_SUCCESS) *out = std::get<alloc_params>(created->params).desc.dptr;
    return status;
  });
}

CUresult capture::free(stream& target_stream, CUdeviceptr address) {
  const std::lock_guard lock{this_process().graphs_mutex};
  return extend_frontier(target_stream,
                         [&](std::span<graph_node* const> predecessors, graph_node*& created) {
                           return graph_memory::add_free(*graph_, address, predecessors, created);
                         });
}

namespace {

CUevent handle_of(const event& published_event) {
  return static_cast<CUevent>(this_process().events.handle_of(&published_event));
}

}  // namespace

// With CU_EVENT_WAIT_EXTERNAL, adds a node that waits for the actual event at each launch.
// Otherwise the stream joins the frontier that this capture recorded in the event. Ignores an
// unshared event that was never recorded. Any other event invalidates this capture, and also the
// valid capture in which it was recorded.
CUresult capture::wait(stream& target_stream, const event& awaited_event, unsigned flags) {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_WAIT_EXTERNAL)
    return add_node(target_stream, wait_params{handle_of(awaited_event)});
  if (awaited_event.shared()) return invalidate(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (awaited_event.capture_id() == 0) {
    return awaited_event.recorded() ? invalidate(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
                                    : CUDA_SUCCESS;
  }
  capture* const event_capture = capture_list::instance().find(awaited_event.capture_id());
  if (event_capture == this) {
    join(target_stream, recorded_[&awaited_event]);
    return CUDA_SUCCESS;
  }
  if (event_capture == nullptr || !event_capture->valid_)
    return invalidate(CUDA_ERROR_INVALID_VALUE);
  event_capture->valid_ = false;
  return invalidate(CUDA_ERROR_STREAM_CAPTURE_MERGE);
}

CUresult capture::join_by_event(stream& joining_stream, const event& awaited_event) {
  if (!valid_) return CUDA_ERROR_INVALID_VALUE;
  if (joining_stream.role() == stream_role::legacy)
    return invalidate(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  join(joining_stream, recorded_[&awaited_event]);
  return CUDA_SUCCESS;
}

// With CU_EVENT_RECORD_EXTERNAL, adds a node that records the actual event at each launch.
// Otherwise stores the stream's frontier for the event. Unlike in wait(), an event that is not
// allowed leaves the capture valid.
CUresult capture::record(event& target_event, stream& target_stream, unsigned flags) {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_RECORD_EXTERNAL)
    return add_node(target_stream, record_params{handle_of(target_event)});
  if (&target_event.owner() != &target_stream.owner().base()) return CUDA_ERROR_INVALID_HANDLE;
  if (target_event.shared()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  recorded_[&target_event] = participant_of(target_stream).frontier;
  target_event.set_capture_id(id_);
  return CUDA_SUCCESS;
}

// CU_EVENT_WAIT_EXTERNAL is an error for a stream without a capture. A plain wait remains if
// another thread has ended the capture or recorded the event again since the caller's check.
CUresult detail::wait_in_capture(stream& target_stream, event& awaited_event, unsigned flags) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (capture* active = target_stream.capture())
      return active->wait(target_stream, awaited_event, flags);
    const unsigned long long id = awaited_event.capture_id();
    if (flags != 0) {
      const CUresult status = capture_list::instance().check_event_of(id, capture_effect::keep);
      return status == CUDA_ERROR_INVALID_VALUE ? status : CUDA_ERROR_ILLEGAL_STATE;
    }
    if (id != 0) {
      capture* const event_capture = capture_list::instance().find(id);
      return event_capture == nullptr ? CUDA_ERROR_INVALID_VALUE
                                      : event_capture->join_by_event(target_stream, awaited_event);
    }
  }
  target_stream.wait(awaited_event.recorded_point());
  return CUDA_SUCCESS;
}

CUresult detail::record_in_capture(event& target_event, stream& target_stream, unsigned flags) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (capture* active = target_stream.capture())
      return active->record(target_event, target_stream, flags);
    if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
  }
  return target_event.record(target_stream);
}

CUresult detail::check_event_not_captured(const event& source_event,
                                          capture_effect effect) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  return capture_list::instance().check_event_of(source_event.capture_id(), effect);
}

// If the capture began in this stream, ends it and discards its graph. Otherwise the stream's
// captured work stays and must still be joined.
void capture::leave(stream& closed_stream) noexcept {
  if (participants_.front().captured_stream == &closed_stream) {
    graph& captured_graph = *graph_;
    detach_streams();
    discard(captured_graph);
  } else {
    closed_stream.set_capture(nullptr);
    participant_of(closed_stream).captured_stream = nullptr;
  }
}

void detail::leave_capture(stream& closed_stream) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  if (capture* active = closed_stream.capture()) active->leave(closed_stream);
}

}  // namespace weir::embedded::model
