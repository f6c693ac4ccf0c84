// SPDX-License-Identifier: Apache-2.0
// sequences/calls/graph.cpp - graphs built by hand, and executable graphs.
#include "sequences/actions.hpp"
#include "sequences/graphs.hpp"

#include <algorithm>
#include <cstring>

namespace weir::sequences {
namespace {

// Returns true if all memory and events that the nodes use still exist. A GPU's driver crashes on
// others.
template <class Of>
bool is_whole(const world& w, const Of& of) {
  const auto live = [](const auto& objects) {
    return [&](std::size_t number) { return objects[number].live; };
  };
  return w.wild() || (std::all_of(of.used_blocks.begin(), of.used_blocks.end(), live(w.blocks)) &&
                      std::all_of(of.events.begin(), of.events.end(), live(w.events)));
}

graph_object* any_graph(world& w) {
  const std::vector<std::size_t> live = live_indices(w.graphs);
  return live.empty() ? nullptr : &w.graphs[live[w.d.below(static_cast<unsigned>(live.size()))]];
}

exec_object* any_exec(world& w) {
  const std::vector<std::size_t> live = live_indices(w.execs);
  return live.empty() ? nullptr : &w.execs[live[w.d.below(static_cast<unsigned>(live.size()))]];
}

void create_graph(world& w) {
  const unsigned flags = w.d.one_of({0u, 0u, 0u, 0u, 1u});
  if (live_indices(w.graphs).size() >= max_graphs) return;
  CUgraph made = nullptr;
  const CUresult r = w.driver().cuGraphCreate(w.d.one_in(16) ? nullptr : &made, flags);
  w.text.call(r, fmt::format("cuGraphCreate({})", flags),
              r == CUDA_SUCCESS ? add_graph(w, {.handle = made}) : "");
}

CUresult add_set(world& w, graph_object& g, CUgraphNode* node, const CUgraphNode* after,
                 std::size_t count) {
  block* const in = any_block(w);
  CUDA_MEMSET_NODE_PARAMS params;
  std::memset(&params, 0, sizeof params);
  params.dst = in != nullptr ? in->address : 0;
  params.elementSize = w.d.one_of({1u, 1u, 2u, 4u, 0u, 3u});
  params.value = w.d.one_of({0u, 7u, 0x1ffu});
  params.width = in != nullptr ? std::min<std::size_t>(in->size / 4, w.d.one_of({1u, 16u, 0u})) : 1;
  params.height = 1;
  if (in != nullptr) in->in_graph = true;
  if (in != nullptr) g.used_blocks.push_back(static_cast<std::size_t>(in - w.blocks.data()));
  const CUcontext context = any_context(w);
  w.text.note(fmt::format("in {} set {} {:#x} {}x{}", name_of(w, context),
                          in != nullptr ? in->name : "null", params.value, params.elementSize,
                          params.width));
  return w.driver().cuGraphAddMemsetNode(node, g.handle, after, count, &params, context);
}

CUresult add_copy(world& w, graph_object& g, CUgraphNode* node, const CUgraphNode* after,
                  std::size_t count) {
  block* const to = any_block(w);
  block* const from = to != nullptr ? any_block(w, to) : nullptr;
  CUDA_MEMCPY3D params;
  std::memset(&params, 0, sizeof params);
  if (from != nullptr) {
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    params.srcDevice = from->address;
    params.dstDevice = to->address;
    params.WidthInBytes = std::min({to->size, from->size, std::size_t{w.d.one_of({1u, 64u, 0u})}});
    params.Height = params.Depth = 1;
    to->in_graph = from->in_graph = true;
    for (const block* one : {to, from})
      g.used_blocks.push_back(static_cast<std::size_t>(one - w.blocks.data()));
  }
  const CUcontext context = any_context(w);
  w.text.note(fmt::format("in {} copy {} <- {}, {}", name_of(w, context),
                          to != nullptr ? to->name : "none", from != nullptr ? from->name : "none",
                          params.WidthInBytes));
  return w.driver().cuGraphAddMemcpyNode(node, g.handle, after, count, &params, context);
}

CUevent event_for(world& w, graph_object& g) {
  const chosen_event e = any_event(w);
  if (e.number >= 0) g.events.push_back(static_cast<std::size_t>(e.number));
  w.text.note("event " + e.name);
  return e.handle;
}

// Adds a node after the previous one, so that accesses to one block are ordered.
void add_node(world& w) {
  graph_object* const g = any_graph(w);
  if (g == nullptr || (g->nodes.empty() && !g->used_blocks.empty())) return;
  CUgraphNode node = nullptr;
  const CUgraphNode before = g->nodes.empty() ? nullptr : g->nodes.back();
  const CUgraphNode* const after = before != nullptr ? &before : nullptr;
  const std::size_t count = before != nullptr ? 1 : 0;
  const driver_table& d = w.driver();
  CUresult r = CUDA_SUCCESS;
  const char* name = "";
  switch (w.d.below(6)) {
    case 0: r = d.cuGraphAddEmptyNode(&node, g->handle, after, count), name = "Empty"; break;
    case 1: r = add_set(w, *g, &node, after, count), name = "Memset"; break;
    case 2: r = add_copy(w, *g, &node, after, count), name = "Memcpy"; break;
    case 3: {
      const CUDA_HOST_NODE_PARAMS params{.fn = w.d.one_in(16) ? nullptr : &host_log::ran,
                                         .userData = w.host.make("graph")};
      r = d.cuGraphAddHostNode(&node, g->handle, after, count, &params), name = "Host";
      break;
    }
    case 4:
      r = d.cuGraphAddEventRecordNode(&node, g->handle, after, count, event_for(w, *g)),
      name = "EventRecord";
      break;
    default:
      r = d.cuGraphAddEventWaitNode(&node, g->handle, after, count, event_for(w, *g)),
      name = "EventWait";
      break;
  }
  if (r == CUDA_SUCCESS) g->nodes.push_back(node);
  w.text.call(r, fmt::format("cuGraphAdd{}Node({})", name, g->name));
}

void describe(world& w) {
  if (const graph_object* const g = any_graph(w); g != nullptr)
    w.text.note(g->name + " " + shape_of(w, g->handle));
}

void clone(world& w) {
  const graph_object* const g = any_graph(w);
  if (g == nullptr || live_indices(w.graphs).size() >= max_graphs) return;
  graph_object made{.used_blocks = g->used_blocks, .events = g->events};
  const std::string name = g->name;
  const CUresult r = w.driver().cuGraphClone(&made.handle, g->handle);
  w.text.call(r, fmt::format("cuGraphClone({})", name),
              r == CUDA_SUCCESS ? add_graph(w, made) : "");
}

void destroy_graph(world& w) {
  graph_object* const g = any_graph(w);
  if (g == nullptr) return w.text.call(w.driver().cuGraphDestroy(nullptr), "cuGraphDestroy(null)");
  g->live = false;
  w.text.call(w.driver().cuGraphDestroy(g->handle), fmt::format("cuGraphDestroy({})", g->name));
}

void instantiate(world& w) {
  const graph_object* const g = any_graph(w);
  const unsigned long long flags = w.d.one_of({0ull, 0ull, 1ull, 8ull, 16ull});
  if (live_indices(w.execs).size() >= max_graphs || (g != nullptr && !is_whole(w, *g))) return;
  exec_object made;
  if (g != nullptr) {
    made.used_blocks = g->used_blocks;
    made.events = g->events;
  }
  const CUresult r = w.driver().cuGraphInstantiateWithFlags(
      &made.handle, g != nullptr ? g->handle : nullptr, flags);
  if (r == CUDA_SUCCESS) {
    made.name = fmt::format("x{}", w.execs.size());
    w.execs.push_back(made);
  }
  w.text.call(
      r, fmt::format("cuGraphInstantiateWithFlags({}, {})", g != nullptr ? g->name : "null", flags),
      made.name);
}

void launch(world& w) {
  const exec_object* const x = any_exec(w);
  if (x == nullptr || !is_whole(w, *x)) return;
  const chosen_stream s = any_stream(w);
  sync_all(w);
  const CUresult r = w.driver().cuGraphLaunch(x->handle, s.handle);
  w.text.call(r, fmt::format("cuGraphLaunch({}, {})", x->name, s.name));
  sync_all(w);
}

void upload(world& w) {
  const exec_object* const x = any_exec(w);
  const chosen_stream s = any_stream(w);
  if (x != nullptr && !is_whole(w, *x)) return;
  w.text.call(w.driver().cuGraphUpload(x != nullptr ? x->handle : nullptr, s.handle),
              fmt::format("cuGraphUpload({}, {})", x != nullptr ? x->name : "null", s.name));
}

void update(world& w) {
  exec_object* const x = any_exec(w);
  const graph_object* const g = any_graph(w);
  if (x == nullptr || g == nullptr || !is_whole(w, *g) || !is_whole(w, *x)) return;
  sync_all(w);
  CUgraphExecUpdateResultInfo info;
  std::memset(&info, 0, sizeof info);
  const CUresult r = w.driver().cuGraphExecUpdate_v2(x->handle, g->handle, &info);
  w.text.call(r, fmt::format("cuGraphExecUpdate({}, {})", x->name, g->name),
              fmt::format("{}", static_cast<unsigned>(info.result)));
  // A failed update may have changed some nodes.
  x->used_blocks.insert(x->used_blocks.end(), g->used_blocks.begin(), g->used_blocks.end());
  x->events.insert(x->events.end(), g->events.begin(), g->events.end());
}

void destroy_exec(world& w) {
  exec_object* const x = any_exec(w);
  if (x == nullptr)
    return w.text.call(w.driver().cuGraphExecDestroy(nullptr), "cuGraphExecDestroy(null)");
  x->live = false;
  w.text.call(w.driver().cuGraphExecDestroy(x->handle),
              fmt::format("cuGraphExecDestroy({})", x->name));
  if (w.d.one_in(4))
    w.text.call(w.driver().cuGraphExecDestroy(x->handle),
                fmt::format("cuGraphExecDestroy({} again)", x->name));
}

}  // namespace

std::span<const action> graph_actions() {
  static constexpr action all[] = {
      {2, create_graph}, {4, add_node}, {1, describe}, {1, clone},  {1, destroy_graph},
      {2, instantiate},  {3, launch},   {1, upload},   {1, update}, {1, destroy_exec},
  };
  return all;
}

}  // namespace weir::sequences
