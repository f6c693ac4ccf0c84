// api/graph.cpp - graphs: made, asked, copied, drawn, given up.
#include <weir/context.hpp>
#include <weir/graph.hpp>
#include <weir/graph_exec.hpp>
#include <weir/to_string.hpp>

#include "api/captured_memory.hpp"
#include "api/captures.hpp"
#include "api/check.hpp"
#include "api/conditional_bodies.hpp"
#include "api/driver_edges.hpp"
#include "api/graph_book.hpp"
#include "api/graph_use.hpp"
#include "api/node_calls.hpp"
#include "api/reclaimer.hpp"
#include "api/whole_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::subject;
using detail::usable;

namespace {

// What a list function of the driver gives: asked once for how many there are, and once for them.
template <class Ask>
std::vector<graph_node> list_of(const Ask& ask, const char* call, graph_ref of, call_site at) {
  std::size_t count = 0;
  check(ask(nullptr, &count), call, subject::graph(of.get()), at);
  std::vector<abi::CUgraphNode> handles(count);
  if (count != 0) check(ask(handles.data(), &count), call, subject::graph(of.get()), at);
  std::vector<graph_node> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nodes.emplace_back(handles[i], of.get());
  return nodes;
}

// Each after all that it depends on; nodes that become free at the same time stay in the order that they had.
std::vector<graph_node> in_topological_order(std::vector<graph_node> nodes, const std::vector<graph_edge>& edges) {
  if (edges.empty()) return nodes;
  std::unordered_map<CUgraphNode_st*, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i].get()] = i;
  std::vector<std::size_t> waits(nodes.size());
  std::vector<std::vector<std::size_t>> next(nodes.size());
  for (const graph_edge& edge : edges) {
    ++waits[place.at(edge.to.get())];
    next[place.at(edge.from.get())].push_back(place.at(edge.to.get()));
  }
  for (std::vector<std::size_t>& after : next) std::ranges::sort(after);  // whatever order the edges are told in
  std::vector<std::size_t> order;
  order.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits[i] == 0) order.push_back(i);
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    for (const std::size_t after : next[order[done]]) {
      if (--waits[after] == 0) order.push_back(after);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits[i] != 0) order.push_back(i);  // of a cycle, or behind one
  }
  std::vector<graph_node> sorted;
  sorted.reserve(nodes.size());
  for (const std::size_t i : order) sorted.push_back(nodes[i]);
  return sorted;
}

// A file without a name: nothing is left of it, whatever happens.
class nameless_file {
 public:
  explicit nameless_file(graph_ref g, call_site at) : descriptor_{::memfd_create("weir graph", MFD_CLOEXEC)} {
    if (descriptor_ < 0) {
      detail::fail(errc::operating_system, "memfd_create", to_string(g), "there is no file for the description", at);
    }
  }
  nameless_file(const nameless_file&) = delete;
  nameless_file& operator=(const nameless_file&) = delete;
  ~nameless_file() { ::close(descriptor_); }

  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }
  [[nodiscard]] std::string text() const {
    struct ::stat facts = {};
    if (::fstat(descriptor_, &facts) != 0) return {};
    std::string text(static_cast<std::size_t>(facts.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t more = ::pread(descriptor_, text.data() + have, text.size() - have, static_cast<off_t>(have));
      if (more <= 0) break;
      have += static_cast<std::size_t>(more);
    }
    text.resize(have);
    return text;
  }

 private:
  int descriptor_;
};

// What the driver calls when the last user is gone, on a thread where nothing may be destroyed.
void CUDA_CB let_go_of_kept(void* data) { detail::leave_chore(*static_cast<detail::chore*>(data)); }

}  // namespace

void detail::destroy_owned(CUgraph_st* graph) noexcept {
  if (is_lost(graph)) return;
  if (captures_open() && leave_to_capture(graph)) return;
  forget_graph(graph);
  note_graph_destroyed(graph);
  check_unraised(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
}

CUctx_st* detail::home_of(const graph& captured) noexcept { return captured.context_; }

void detail::keep_in_graph(CUgraph_st* graph, chore& object, call_site at) {
  // Until the driver has it, it is destroyed here.
  struct guard {
    chore* object;
    ~guard() {
      if (object != nullptr) static_cast<void>(object->run(*object));
    }
  } ours{&object};
  const graph_ref on{graph};
  CUgraph_st* const handle = usable(on, "cuUserObjectCreate", at);
  abi::CUuserObject owner = nullptr;
  check(driver().cuUserObjectCreate(&owner, &object, &let_go_of_kept, 1, abi::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", subject::graph(handle), at);
  ours.object = nullptr;
  const abi::CUresult answer = driver().cuGraphRetainUserObject(handle, owner, 1, abi::CU_GRAPH_USER_OBJECT_MOVE);
  if (answer == abi::CUDA_SUCCESS) return;
  check_unraised(driver().cuUserObjectRelease(owner, 1), "cuUserObjectRelease", subject::graph(handle));
  check(answer, "cuGraphRetainUserObject", subject::graph(handle), at);
}

std::vector<graph_node> graph_ref::nodes(call_site at) const {
  CUgraph_st* const handle = usable(*this, "cuGraphGetNodes", at);
  const auto ask = [&](abi::CUgraphNode* nodes, std::size_t* count) {
    return driver().cuGraphGetNodes(handle, nodes, count);
  };
  return in_topological_order(list_of(ask, "cuGraphGetNodes", *this, at), edges(at));
}

std::size_t graph_ref::node_count(call_site at) const {
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(usable(*this, "cuGraphGetNodes", at), nullptr, &count), "cuGraphGetNodes",
        subject::graph(handle_), at);
  return count;
}

std::vector<graph_node> graph_ref::roots(call_site at) const {
  CUgraph_st* const handle = usable(*this, "cuGraphGetRootNodes", at);
  const auto ask = [&](abi::CUgraphNode* nodes, std::size_t* count) {
    return driver().cuGraphGetRootNodes(handle, nodes, count);
  };
  return list_of(ask, "cuGraphGetRootNodes", *this, at);
}

std::vector<graph_edge> graph_ref::edges(call_site at) const {
  constexpr const char* call = "cuGraphGetEdges";
  CUgraph_st* const handle = usable(*this, call, at);
  std::size_t count = 0;
  check(detail::get_edges(handle, nullptr, nullptr, nullptr, &count), call, subject::graph(handle), at);
  std::vector<abi::CUgraphNode> from(count);
  std::vector<abi::CUgraphNode> to(count);
  std::vector<abi::CUgraphEdgeData> data(count);
  if (count != 0) {
    check(detail::get_edges(handle, from.data(), to.data(), data.data(), &count), call, subject::graph(handle), at);
  }
  std::vector<graph_edge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back(
        {graph_node{from[i], handle}, graph_node{to[i], handle}, {data[i].from_port, data[i].to_port, data[i].type}});
  }
  return edges;
}

graph graph_ref::clone(call_site at) const {
  CUgraph_st* const handle = usable(*this, "cuGraphClone", at);
  abi::CUgraph copy = nullptr;
  if (const abi::CUresult answer = driver().cuGraphClone(&copy, handle); answer != abi::CUDA_SUCCESS) {
    detail::fail_copying(answer, *this, at);
  }
  detail::forget_graph(copy);
  graph made = graph::adopt(copy, at);
  detail::copy_notes(handle, copy, at);
  return made;
}

graph_node graph_ref::find_clone_of(graph_node original, call_site at) const {
  constexpr const char* call = "cuGraphNodeFindInClone";
  CUgraph_st* const handle = usable(*this, call, at);
  abi::CUgraphNode copy = nullptr;
  const abi::CUgraphNode node = detail::usable(original, call, at);
  if (const abi::CUresult answer = driver().cuGraphNodeFindInClone(&copy, node, handle); answer != abi::CUDA_SUCCESS) {
    detail::fail(static_cast<errc>(answer), call, to_string(*this),
                 "this has to be a clone of the graph that the node is of, and the node to have been there when it was "
                 "made",
                 at);
  }
  return graph_node{copy, handle};
}

std::string graph_ref::dot(dot_detail tell, call_site at) const {
  constexpr const char* call = "cuGraphDebugDotPrint";
  CUgraph_st* const handle = usable(*this, call, at);
  const nameless_file file{*this, at};
  check(driver().cuGraphDebugDotPrint(handle, file.path().c_str(), static_cast<unsigned>(tell)), call,
        subject::graph(handle), at);
  return file.text();
}

void graph_ref::write_dot(const std::string& path, dot_detail tell, call_site at) const {
  detail::write_text(path, dot(tell, at), "weir::graph_ref::write_dot", subject::graph(handle_), at);
}

graph::graph(call_site at) : handle_{detail::closed_handle<CUgraph_st>()} {
  detail::permit("cuGraphCreate", {}, at);
  abi::CUgraph made = nullptr;
  check(driver().cuGraphCreate(&made, 0), "cuGraphCreate", {}, at);
  detail::forget_graph(made);
  handle_ = made;
}

graph graph::adopt(CUgraph_st* handle, call_site at) { return adopt(handle, context_ref{nullptr}, at); }

graph graph::adopt(CUgraph_st* handle, context_ref context, call_site at) {
  constexpr const char* call = "weir::graph::adopt";
  usable(graph_ref{handle}, call, at);
  if (handle == nullptr) detail::fail(errc::invalid_handle, call, "null", "there is no graph to take over", at);
  if (context.get() == detail::closed_handle<CUctx_st>()) detail::fail_closed(call, subject{context.get()}, at);
  return graph{handle, context.get()};
}

graph& graph::operator=(graph&& other) noexcept {
  graph taken{std::move(other)};
  std::swap(handle_, taken.handle_);
  std::swap(context_, taken.context_);
  return *this;
}

graph::~graph() {
  if (closed()) return;
  detail::run_outside_host_functions([handle = handle_] { detail::destroy_owned(handle); });
}

void graph::close(call_site at) {
  if (closed()) return;
  if (detail::is_lost(handle_)) {
    static_cast<void>(release(at));
    return;
  }
  CUgraph_st* const handle = detail::finished(ref(), "cuGraphDestroy", at);
  handle_ = detail::closed_handle<CUgraph_st>();
  detail::leaving_notes notes{handle};
  detail::note_graph_destroyed(handle);
  const abi::CUresult answer = driver().cuGraphDestroy(handle);
  if (answer != abi::CUDA_SUCCESS) notes.kept();
  check(answer, "cuGraphDestroy", subject::graph(handle), at);
}

CUgraph_st* graph::release(call_site at) {
  if (closed()) detail::fail_closed("weir::graph::release", subject::graph(handle_), at);
  detail::note_graph_released(handle_);
  return std::exchange(handle_, detail::closed_handle<CUgraph_st>());
}

graph graph::clone(call_site at) const {
  graph copy = ref().clone(at);
  copy.context_ = context_;
  return copy;
}

}  // namespace weir
