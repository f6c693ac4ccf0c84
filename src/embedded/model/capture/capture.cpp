// SPDX-License-Identifier: Apache-2.0
// model/capture/capture.cpp - begins and ends captures, adds
// their nodes, and joins streams through events.
#include "embedded/model/capture/capture.hpp"

#include <algorithm>
#include <mutex>
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

void add_missing(std::vector<graph_node*>& to, std::span<graph_node* const> nodes) {
  for (graph_node* node : nodes) {
    if (std::ranges::find(to, node) == to.end()) to.push_back(node);
  }
}

}  // namespace

CUresult capture::begin(stream& target_stream, CUstreamCaptureMode mode) {
  return begin_in(target_stream, nullptr, {}, mode);
}

CUresult capture::begin_to(stream& target_stream, graph& into,
                           std::vector<graph_node*> predecessors, CUstreamCaptureMode mode) {
  return begin_in(target_stream, &into, std::move(predecessors), mode);
}

CUresult capture::check_begin(const stream& target_stream) {
  if (target_stream.role() == stream_role::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return target_stream.capture() != nullptr ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult capture::begin_in(stream& target_stream, graph* into,
                           std::vector<graph_node*> predecessors, CUstreamCaptureMode mode) {
  if (const CUresult status = check_begin(target_stream); status != CUDA_SUCCESS) return status;
  if (into != nullptr && into->capturing()) return CUDA_ERROR_ILLEGAL_STATE;
  capture& c = capture_list::instance().acquire();
  try {
    c.participants_.push_back({&target_stream, {}, {}, {}, {}});
    add_missing(c.participants_.front().frontier, predecessors);
    c.graph_ = into != nullptr ? into : &graph::make();
  } catch (...) {
    c.participants_.clear();
    capture_list::instance().recycle(c);
    throw;
  }
  c.graph_->set_capturing(true);
  c.valid_ = true;
  c.mode_ = mode;
  c.thread_ = capture_list::this_thread_number();
  c.id_ = capture_list::next_id();
  target_stream.set_capture(&c);
  return CUDA_SUCCESS;
}

CUresult capture::end(stream& target_stream, bool requested, graph*& out) {
  capture* const c = target_stream.capture();
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->participants_.front().in != &target_stream) {
    c->valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult status = CUDA_SUCCESS;
  if (!c->valid_) {
    status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!c->all_joined()) {
    status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  } else if (c->mode_ != CU_STREAM_CAPTURE_MODE_RELAXED &&
             c->thread_ != capture_list::this_thread_number()) {
    status = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool orphaned_root = c->graph_->orphaned_root() != nullptr;
  const bool keep =
      status == CUDA_SUCCESS && (requested || c->graph_->is_subgraph()) && !orphaned_root;
  if (keep) out = c->graph_;
  c->tear_down(keep);
  return status;
}

// Detaches all streams. Without `keep_graph`, a graph is destroyed, even if the program supplied
// it, and a graph inside a node only loses its nodes. A graph whose node is gone is destroyed with
// its root, once no capture into it is left.
void capture::tear_down(bool keep_graph) noexcept {
  for (const participant& p : participants_) {
    if (p.in != nullptr) p.in->set_capture(nullptr);
  }
  participants_.clear();
  recorded_.clear();
  graph_->set_capturing(false);
  if (graph* const root_without_owner = graph_->orphaned_root()) {
    if (!root_without_owner->has_capture_inside()) root_without_owner->destroy();
  } else if (!keep_graph && graph_->is_subgraph()) {
    graph_->clear();
  } else if (!keep_graph) {
    graph_->destroy();
  }
  graph_ = nullptr;
  capture_list::instance().recycle(*this);
}

// Returns true if the work of every stream is joined. A node is joined if another node depends on
// it, even a node added by hand, or if the first stream's frontier contains it. As recorded on an
// H200, these dependents need not lead to the end of the first stream.
bool capture::all_joined() const {
  const std::vector<graph_node*>& first = participants_.front().frontier;
  return std::ranges::all_of(participants_, [&](const participant& p) {
    return &p == &participants_.front() ||
           std::ranges::all_of(p.unjoined, [&](const graph_node* node) {
             return !node->dependents.empty() || std::ranges::find(first, node) != first.end();
           });
  });
}

void capture::get_status(stream& target_stream, capture_info& out) noexcept {
  const capture* const c = target_stream.capture();
  if (c == nullptr) return;
  out.id = c->id_;
  out.status = c->valid_ ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  if (c->valid_) out.into = c->graph_;
}

void capture::get_info(stream& target_stream, capture_info& out) {
  get_status(target_stream, out);
  if (out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  participant& part = target_stream.capture()->participant_of(target_stream);
  part.reported_frontier.clear();
  for (const graph_node* node : part.frontier) part.reported_frontier.push_back(node->handle());
  part.reported_edges.assign(part.reported_frontier.size(), {});
  out.frontier = part.reported_frontier;
  out.edges = part.reported_edges;
}

CUresult capture::update_frontier(stream& target_stream, std::span<graph_node* const> nodes,
                                  bool replace) {
  capture* const c = target_stream.capture();
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (!c->valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (std::ranges::any_of(nodes, [&](const graph_node* node) { return node->in != c->graph_; }))
    return CUDA_ERROR_INVALID_VALUE;
  participant& part = c->participant_of(target_stream);
  std::vector<graph_node*> updated = replace ? std::vector<graph_node*>{} : part.frontier;
  add_missing(updated, nodes);
  if (replace && &part == &c->participants_.front()) {
    // The nodes of the replaced frontier count as joined.
    for (participant& other : c->participants_) {
      for (graph_node* const node : part.frontier) std::erase(other.unjoined, node);
    }
  }
  if (replace) part.unjoined.clear();
  part.frontier = std::move(updated);
  return CUDA_SUCCESS;
}

capture::participant& capture::participant_of(const stream& s) noexcept {
  return *std::ranges::find(participants_, &s, &participant::in);
}

void capture::join(stream& s, std::span<graph_node* const> predecessors) {
  if (s.capture() == nullptr) {
    participants_.push_back({&s, {}, {}, {}, {}});
    s.set_capture(this);
  }
  participant& part = participant_of(s);
  add_missing(part.frontier, predecessors);
  if (&part == &participants_.front()) return;
  part.unjoined.reserve(part.unjoined.size() + predecessors.size());
  // Nodes that other streams had to join are now to be joined by this stream.
  for (participant& other : participants_) {
    if (&other == &part || &other == &participants_.front()) continue;
    for (graph_node* const node : predecessors) {
      if (std::erase(other.unjoined, node) != 0) part.unjoined.push_back(node);
    }
  }
}

template <class Work>
CUresult capture::add_work(stream& in, const Work& work) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (in.capture() == this) {
      if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      return add_node(in, params_of(work, in.owner()));
    }
  }
  return in.submit(work);  // another thread has ended the capture
}

CUresult capture::add_node(stream& in, node_params params) {
  participant& part = participant_of(in);
  part.frontier.reserve(1);
  part.unjoined.reserve(1);
  graph_node& added = graph_->add(std::move(params), part.frontier);
  part.frontier.assign(1, &added);
  part.unjoined.assign(1, &added);
  return CUDA_SUCCESS;
}

CUresult capture::add(stream& in, const memset_work& work) { return add_work(in, work); }
CUresult capture::add(stream& in, const copy_work& work) { return add_work(in, work); }
CUresult capture::add(stream& in, const pitched_copy_work& work) { return add_work(in, work); }
CUresult capture::add(stream& in, const host_work& work) { return add_work(in, work); }
CUresult capture::add(stream& in, const value_wait& work) { return add_work(in, work); }
CUresult capture::add(stream& in, const value_write& work) { return add_work(in, work); }

CUresult capture::add_kernel(stream& in, kernel_params params, bool programmatic) {
  const std::lock_guard lock{this_process().graphs_mutex};
  if (in.capture() != this) return CUDA_ERROR_ILLEGAL_STATE;
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const CUresult status = add_node(in, std::move(params));
  if (status != CUDA_SUCCESS || !programmatic) return status;
  graph_node& added = *participant_of(in).frontier.front();
  constexpr CUgraphEdgeData data{
      CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
  for (const graph_node* before : added.dependencies) {
    if (graph::allows_edge(*before, added, data)) graph::set_edge_data(*before, added, data);
  }
  return status;
}

CUresult capture::add_batch(stream& in, std::span<const CUstreamBatchMemOpParams> operations) {
  const std::lock_guard lock{this_process().graphs_mutex};
  // Another thread may have ended the capture.
  if (in.capture() != this) return CUDA_ERROR_ILLEGAL_STATE;
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return add_node(in, value_params{in.owner().handle(), {operations.begin(), operations.end()}});
}

// Adds the node that make(frontier, node) creates.
template <class Make>
CUresult capture::add_made(stream& in, Make make) {
  const std::lock_guard lock{this_process().graphs_mutex};
  // Another thread may have ended the capture.
  if (in.capture() != this) return CUDA_ERROR_ILLEGAL_STATE;
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  participant& part = participant_of(in);
  part.frontier.reserve(1);
  part.unjoined.reserve(1);
  graph_node* created = nullptr;
  const CUresult status = make(part.frontier, created);
  if (status != CUDA_SUCCESS) return status;
  part.frontier.assign(1, created);
  part.unjoined.assign(1, created);
  return CUDA_SUCCESS;
}

CUresult capture::allocate(stream& in, const CUDA_MEM_ALLOC_NODE_PARAMS& params, CUdeviceptr* out) {
  return add_made(in, [&](std::span<graph_node* const> predecessors, graph_node*& created) {
    const CUresult status = graph_memory::add_allocation(*graph_, params, predecessors, created);
    if (status == CUDA_SUCCESS) *out = std::get<alloc_params>(created->params).desc.dptr;
    return status;
  });
}

CUresult capture::free(stream& in, CUdeviceptr address) {
  return add_made(in, [&](std::span<graph_node* const> predecessors, graph_node*& created) {
    return graph_memory::add_free(*graph_, address, predecessors, created);
  });
}

namespace {

CUevent handle_of(const event& e) {
  return static_cast<CUevent>(this_process().events.handle_of(&e));
}

}  // namespace

// With CU_EVENT_WAIT_EXTERNAL, adds a node that waits for the actual event at each launch.
CUresult capture::wait(stream& s, const event& e, unsigned flags) {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_WAIT_EXTERNAL) return add_node(s, wait_params{handle_of(e)});
  if (e.shared()) {
    valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (e.capture_id() == 0) {
    if (!e.recorded()) return CUDA_SUCCESS;
    valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  capture* const other = capture_list::instance().find(e.capture_id());
  if (other == this) {
    join(s, recorded_[&e]);
    return CUDA_SUCCESS;
  }
  valid_ = false;
  if (other == nullptr || !other->valid_) return CUDA_ERROR_INVALID_VALUE;
  other->valid_ = false;
  return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

// A stream without a capture joins this capture by waiting for one of its events.
CUresult capture::join_by_event(stream& s, const event& e) {
  if (!valid_) return CUDA_ERROR_INVALID_VALUE;
  if (s.role() == stream_role::legacy) {
    valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  join(s, recorded_[&e]);
  return CUDA_SUCCESS;
}

// With CU_EVENT_RECORD_EXTERNAL, adds a node that records the actual event at each launch.
CUresult capture::record(event& e, stream& s, unsigned flags) {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_RECORD_EXTERNAL) return add_node(s, record_params{handle_of(e)});
  if (&e.owner() != &s.owner().base()) return CUDA_ERROR_INVALID_HANDLE;
  if (e.shared()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  recorded_[&e] = participant_of(s).frontier;
  e.set_capture_id(id_);
  return CUDA_SUCCESS;
}

CUresult detail::wait_in_capture(stream& s, event& e, unsigned flags) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (capture* c = s.capture()) return c->wait(s, e, flags);
    if (e.capture_id() != 0 && flags != 0) {
      const CUresult status = capture_list::instance().check_event_of(e.capture_id(), false);
      return status == CUDA_ERROR_INVALID_VALUE ? status : CUDA_ERROR_ILLEGAL_STATE;
    }
    if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
    if (e.capture_id() != 0) {
      capture* const of_event = capture_list::instance().find(e.capture_id());
      return of_event == nullptr ? CUDA_ERROR_INVALID_VALUE : of_event->join_by_event(s, e);
    }
  }
  s.wait(e.recorded_point());
  return CUDA_SUCCESS;
}

CUresult detail::record_in_capture(event& e, stream& s, unsigned flags) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (capture* c = s.capture()) return c->record(e, s, flags);
    if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
  }
  return e.record(s);
}

CUresult detail::check_event_not_captured(const event& e, bool invalidates) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  return capture_list::instance().check_event_of(e.capture_id(), invalidates);
}

// Ends a capture that began in the stream, without a graph. In another stream's capture, the
// stream's work stays and must still be joined.
void capture::leave(stream& s) noexcept {
  s.set_capture(nullptr);
  if (participants_.front().in == &s) {
    tear_down(false);
  } else {
    participant_of(s).in = nullptr;
  }
}

void detail::leave_capture(stream& s) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  if (capture* c = s.capture()) c->leave(s);
}

}  // namespace weir::embedded::model
