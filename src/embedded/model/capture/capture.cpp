// model/capture.cpp - the life of a capture: begin, nodes, end.
#include "embedded/model/capture/capture.hpp"

#include <algorithm>
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

CUresult capture::begin(stream& on, CUstreamCaptureMode mode) {
  return begin_in(on, nullptr, {}, mode);
}

CUresult capture::begin_to(stream& on, graph& into, std::vector<graph_node*> predecessors,
                           CUstreamCaptureMode mode) {
  return begin_in(on, &into, std::move(predecessors), mode);
}

CUresult capture::check_begin(const stream& on) {
  if (on.role() == stream_role::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return on.capture() != nullptr ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult capture::begin_in(stream& on, graph* into, std::vector<graph_node*> predecessors,
                           CUstreamCaptureMode mode) {
  if (const CUresult status = check_begin(on); status != CUDA_SUCCESS) return status;
  if (into != nullptr && into->capturing()) return CUDA_ERROR_ILLEGAL_STATE;
  capture& c = capture_list::instance().acquire();
  try {
    c.participants_.push_back({&on, {}, {}, {}, {}});
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
  on.set_capture(&c);
  return CUDA_SUCCESS;
}

CUresult capture::end(stream& on, bool wanted, graph*& out) {
  capture* const c = on.capture();
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->participants_.front().in != &on) {
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
      status == CUDA_SUCCESS && (wanted || c->graph_->is_subgraph()) && !orphaned_root;
  if (keep) out = c->graph_;
  c->tear_down(keep);
  return status;
}

// All streams are ordinary ones again. A graph that nobody gets is destroyed, a given one, too; one
// that is part of a node only loses its nodes, and one that has lost its node ends when nothing
// captures into it any more.
void capture::tear_down(bool keep_graph) noexcept {
  for (const participant& p : participants_) {
    if (p.in != nullptr) p.in->set_capture(nullptr);
  }
  participants_.clear();
  recorded_.clear();
  graph_->set_capturing(false);
  if (graph* const left = graph_->orphaned_root()) {
    if (!left->has_capture_inside()) left->destroy();
  } else if (!keep_graph && graph_->is_subgraph()) {
    graph_->clear();
  } else if (!keep_graph) {
    graph_->destroy();
  }
  graph_ = nullptr;
  capture_list::instance().recycle(*this);
}

// Does what every stream owes lead to another node, perhaps one that was added by hand, or has the
// first stream come to it? That an H200 looks for no more has been recorded: what it leads to need
// not lead to the end of the first stream.
bool capture::all_joined() const {
  const std::vector<graph_node*>& first = participants_.front().frontier;
  return std::ranges::all_of(participants_, [&](const participant& p) {
    return &p == &participants_.front() ||
           std::ranges::all_of(p.unjoined, [&](const graph_node* node) {
             return !node->dependents.empty() || std::ranges::find(first, node) != first.end();
           });
  });
}

void capture::get_status(stream& of, capture_info& out) noexcept {
  const capture* const c = of.capture();
  if (c == nullptr) return;
  out.id = c->id_;
  out.status = c->valid_ ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  if (c->valid_) out.into = c->graph_;
}

void capture::get_info(stream& of, capture_info& out) {
  get_status(of, out);
  if (out.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  participant& part = of.capture()->participant_of(of);
  part.reported_frontier.clear();
  for (const graph_node* node : part.frontier) part.reported_frontier.push_back(node->handle());
  part.reported_edges.assign(part.reported_frontier.size(), {});
  out.frontier = part.reported_frontier;
  out.edges = part.reported_edges;
}

CUresult capture::update_frontier(stream& of, std::span<graph_node* const> nodes, bool replace) {
  capture* const c = of.capture();
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (!c->valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (std::ranges::any_of(nodes, [&](const graph_node* node) { return node->in != c->graph_; }))
    return CUDA_ERROR_INVALID_VALUE;
  participant& part = c->participant_of(of);
  std::vector<graph_node*> updated = replace ? std::vector<graph_node*>{} : part.frontier;
  add_missing(updated, nodes);
  if (replace && &part == &c->participants_.front()) {
    // What it had come to has been joined, wherever it is sent now.
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
  // What others owed is now what it owes.
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
  return in.submit(work);  // another thread has ended the capture meanwhile
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
  if (in.capture() != this)
    return CUDA_ERROR_ILLEGAL_STATE;  // another thread has ended the capture meanwhile
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  return add_node(in, value_params{in.owner().handle(), {operations.begin(), operations.end()}});
}

// Adds the node that make(frontier, node) makes.
template <class Make>
CUresult capture::add_made(stream& in, Make make) {
  const std::lock_guard lock{this_process().graphs_mutex};
  if (in.capture() != this)
    return CUDA_ERROR_ILLEGAL_STATE;  // another thread has ended the capture meanwhile
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  participant& part = participant_of(in);
  part.frontier.reserve(1);
  part.unjoined.reserve(1);
  graph_node* made = nullptr;
  const CUresult status = make(part.frontier, made);
  if (status != CUDA_SUCCESS) return status;
  part.frontier.assign(1, made);
  part.unjoined.assign(1, made);
  return CUDA_SUCCESS;
}

CUresult capture::allocate(stream& in, const CUDA_MEM_ALLOC_NODE_PARAMS& params, CUdeviceptr* out) {
  return add_made(in, [&](std::span<graph_node* const> predecessors, graph_node*& made) {
    const CUresult status = graph_memory::add_allocation(*graph_, params, predecessors, made);
    if (status == CUDA_SUCCESS) *out = std::get<alloc_params>(made->params).desc.dptr;
    return status;
  });
}

CUresult capture::free(stream& in, CUdeviceptr address) {
  return add_made(in, [&](std::span<graph_node* const> predecessors, graph_node*& made) {
    return graph_memory::add_free(*graph_, address, predecessors, made);
  });
}

}  // namespace weir::embedded::model
