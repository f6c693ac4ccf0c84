// api/node_calls.cpp - nodes added and changed, with the owners that they use.
#include "api/node_calls.hpp"

#include "api/conditional_bodies.hpp"
#include "api/graph_book.hpp"
#include "api/node_notes.hpp"
#include "api/reclaimer.hpp"

#include <weir/kept_owner.hpp>
#include <weir/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace weir::detail {
namespace {

constexpr const char* add_call = "cuGraphAddNode";

// The nodes of a list as the driver takes them.
class driver_nodes {
 public:
  driver_nodes(CUgraph graph, dependency_list nodes, call_site at) : size_{nodes.size()} {
    if (size_ > few_.size()) many_.resize(size_);
    CUgraphNode* next = data();
    for (const graph_node node : nodes) {
      expect_node_of(node, graph, add_call, at);
      *next++ = node.get();
    }
  }
  [[nodiscard]] CUgraphNode* data() noexcept { return many_.empty() ? few_.data() : many_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::array<CUgraphNode, 8> few_{};
  std::vector<CUgraphNode> many_;
  std::size_t size_;
};

// What the driver calls when a graph and all that came of it has let go.
void CUDA_CB drop_share(void* data) {
  auto& owner = *static_cast<shared_owner*>(data);
  if (owner_share::drop(owner)) leave_chore(owner);
}

}  // namespace

CUgraphNode usable(graph_node node, const char* call, call_site at) {
  permit(call, {}, at);
  if (!node) [[unlikely]] {
    fail(errc::invalid_value, call, "no node", "name a node of a graph", at);
  }
  return node.get();
}

const char* name_of(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel: return "kernel";
    case node_kind::copy: return "copy";
    case node_kind::fill: return "fill";
    case node_kind::host_function: return "host function";
    case node_kind::child_graph: return "child graph";
    case node_kind::empty: return "empty";
    case node_kind::event_wait: return "event wait";
    case node_kind::event_record: return "event record";
    case node_kind::semaphore_signal: return "semaphore signal";
    case node_kind::semaphore_wait: return "semaphore wait";
    case node_kind::allocation: return "allocation";
    case node_kind::free: return "free";
    case node_kind::value_batch: return "value batch";
    case node_kind::conditional: return "conditional";
  }
  return "new kind of";
}

std::string describe(graph_node node) {
  if (!node) return "no node";
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  const bool known = driver().cuGraphNodeGetType(node.get(), &type) == CUDA_SUCCESS;
  return known ? fmt::format("{} {}", name_of(static_cast<node_kind>(type)), to_string(node)) : to_string(node);
}

const char* advice_on(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel:
      return "the function has to be loaded, and grid and block have to be what the device can do";
    case node_kind::copy:
      return "both sides have to be there for all of it, with at least a byte, a row and a slice, and pitches of at "
             "least "
             "a row";
    case node_kind::fill:
      return "the memory has to be what a device reaches (a buffer, a pinned_buffer), whole elements within its "
             "bounds, at "
             "least one, and the pitch at least a row";
    case node_kind::host_function: return "the function must not be null";
    case node_kind::child_graph: return "the child has to be a graph, and another one";
    case node_kind::event_wait:
    case node_kind::event_record: return "the event has to be alive";
    case node_kind::semaphore_signal:
    case node_kind::semaphore_wait: return "the semaphores have to be alive, and at least one";
    case node_kind::allocation: return "the memory has to be of a device that there is, at least a byte";
    case node_kind::free: return "the address has to be what an allocation node gave, and nobody else's to free";
    case node_kind::value_batch:
      return "a word lies, aligned to its size, in memory that a device reaches, and there are at most 255";
    case node_kind::conditional: return "the condition has to be of this graph, used by no other node";
    case node_kind::empty: break;
  }
  return "";
}

void expect_node_of(graph_node node, CUgraph graph, const char* call, call_site at) {
  usable(node, call, at);
  const CUgraph of = node.graph().get();
  if (of == nullptr || of == graph) [[likely]] {
    return;
  }
  fail(errc::invalid_value, call, to_string(graph_ref{graph}),
       fmt::format("{} is a node of {}; a clone's own is told by find_clone_of()", to_string(node),
                   to_string(graph_ref{of})),
       at);
}

// Those that are there already are given up where one fails: the destructor runs from here on.
node_owners::node_owners(CUgraph graph, owner_list owners, call_site at) : node_owners{graph} {
  const std::span all{owners.first, owners.size};
  const auto there = std::ranges::count_if(all, [](const owner_share& s) { return s.get() != nullptr; });
  if (there == 0) return;
  constexpr const char* call = "cuGraphRetainUserObject";
  const subject on = subject::graph(graph);
  if (graph == nullptr) {
    fail(errc::invalid_value, call, "a node of an unknown graph",
         "the graph has to keep what the parameters bring along: graph_node{handle, graph}", at);
  }
  open_book(graph, at);
  objects_.reserve(static_cast<std::size_t>(there));
  for (const owner_share& share : all) {
    if (share.get() == nullptr) continue;
    owner_share mine = share;
    CUuserObject object = nullptr;
    check(driver().cuUserObjectCreate(&object, mine.get(), &drop_share, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          "cuUserObjectCreate", on, at);
    static_cast<void>(mine.release());
    const CUresult answer = driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (answer != CUDA_SUCCESS) {
      check_unraised(driver().cuUserObjectRelease(object, 1), "cuUserObjectRelease", on);
      check(answer, call, on, at);
    }
    objects_.push_back(object);
  }
}

node_owners::~node_owners() { give_up(graph_, objects_); }

void node_owners::keep_for(CUgraphNode node) noexcept {
  std::vector<CUuserObject> before;
  try {
    before = note_owners(graph_, node, objects_);
  } catch (...) {  // without memory the graph keeps both, to its end
  }
  objects_.clear();
  give_up(graph_, before);
}

void give_up(CUgraph graph, const std::vector<CUuserObject>& objects) noexcept {
  for (const CUuserObject object : objects) {
    check_unraised(driver().cuGraphReleaseUserObject(graph, object, 1), "cuGraphReleaseUserObject",
                   subject::graph(graph));
  }
}

void fail_adding(CUresult answer, CUgraph to, dependency_list after, node_kind kind, std::string reason, call_site at) {
  const bool gpus_only =
      kind == node_kind::kernel || kind == node_kind::semaphore_signal || kind == node_kind::semaphore_wait;
  switch (answer) {
    case CUDA_ERROR_INVALID_VALUE: {
      std::vector<CUgraphNode> sorted;
      for (const graph_node node : after) sorted.push_back(node.get());
      std::ranges::sort(sorted);
      const auto twice = std::ranges::adjacent_find(sorted);
      if (twice != sorted.end()) {
        reason = describe(graph_node{*twice, to}) + " is named twice in the list of those that it comes after";
      } else if (after.size() != 0) {
        reason += reason.empty() ? "" : "; and ";
        reason += "the nodes that it comes after have to be of this graph";
      }
      break;
    }
    case CUDA_ERROR_NOT_SUPPORTED:
      if (gpus_only) reason = "GPUs only; the embedded driver has no such nodes";
      break;
    case CUDA_ERROR_INVALID_HANDLE: break;
    default: fail(static_cast<errc>(answer), add_call, subject::graph(to), at);
  }
  fail(static_cast<errc>(answer), add_call, to_string(graph_ref{to}),
       fmt::format("a {} node{}{}", name_of(kind), reason.empty() ? "" : ": ", reason), at);
}

CUresult try_add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params, owner_list owners,
                      CUgraphNode& made, call_site at) {
  const CUgraph graph = usable(graph_ref{to}, add_call, at);
  driver_nodes before{graph, after, at};
  refuse_in_body(graph, static_cast<node_kind>(params.type), at);
  node_owners kept{graph, owners, at};
  node_site site = reserve_site(graph, at);
  const CUresult answer = driver().cuGraphAddNode_v2(&made, graph, before.data(), nullptr, before.size(), &params);
  if (answer == CUDA_SUCCESS) {
    site.node = made;
    give_up(graph, note_site(graph, site));  // of one that had this handle, and went past weir
    kept.keep_for(made);
  }
  return answer;
}

CUgraphNode add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params, owner_list owners, call_site at) {
  CUgraphNode made = nullptr;
  const CUresult answer = try_add_node(to, after, params, owners, made, at);
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    const auto kind = static_cast<node_kind>(params.type);
    fail_adding(answer, to, after, kind, advice_on(kind), at);
  }
  return made;
}

void fail_setting(CUresult answer, const char* call, graph_node node, node_kind wanted, call_site at) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (driver().cuGraphNodeGetType(node.get(), &type) != CUDA_SUCCESS) {
    fail(static_cast<errc>(answer), call, to_string(node), "it is no node, or gone", at);
  }
  if (static_cast<node_kind>(type) != wanted) {
    fail(static_cast<errc>(answer), call, describe(node),
         fmt::format("the parameters are of a {} node", name_of(wanted)), at);
  }
  fail(static_cast<errc>(answer), call, describe(node), advice_on(wanted), at);
}

void fail_setting_in(CUresult answer, const char* call, CUgraphExec exec, graph_node node, node_kind wanted,
                     call_site at) {
  const bool can_be_off = wanted == node_kind::fill || wanted == node_kind::copy || wanted == node_kind::kernel;
  unsigned enabled = 0;
  if (can_be_off && driver().cuGraphNodeGetEnabled(exec, node.get(), &enabled) != CUDA_SUCCESS) {
    fail(static_cast<errc>(answer), call, to_string(node),
         "it is none of the nodes that the executable was made of, or of another kind; name a node of that very graph, "
         "not of a clone or of one that it was updated from",
         at);
  }
  const char* may = "";
  switch (wanted) {
    case node_kind::fill:
      may =
          "an executable may change value and address of a fill, one of several rows nothing else; it has to stay one "
          "of "
          "one row or of several";
      break;
    case node_kind::copy:
      may =
          "an executable may change addresses and size of a copy of one row, to memory of the same kinds, host or "
          "device, "
          "and of one context";
      break;
    case node_kind::value_batch:
      may = "an executable may change the words and values of a batch, not how many there are or what each does";
      break;
    case node_kind::child_graph:
      may = "an executable takes a child of the same shape: the same kinds of nodes in the same order";
      break;
    case node_kind::kernel:
      may = "an executable may change function, extents and arguments of a kernel, not its context";
      break;
    default: break;
  }
  const std::string advice = advice_on(wanted);
  fail(static_cast<errc>(answer), call, describe(node),
       fmt::format("{}{}{}{}", may, *may != '\0' ? "; " : "", advice,
                   can_be_off ? "" : "; and the node has to be of the graph that the executable was made of"),
       at);
}

}  // namespace weir::detail
