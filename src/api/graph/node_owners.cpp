// api/graph/node_owners.cpp - owners that graphs keep for the parameters of nodes.
#include "api/graph/node_owners.hpp"

#include "api/graph/graph_book.hpp"
#include "api/graph/node_notes.hpp"
#include "api/deferred/reclaimer.hpp"

#include <weir/detail/kept_owner.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace weir::detail {
namespace {

// What the driver calls when a graph and all that came of it has let go.
void CUDA_CB drop_share(void* data) {
  auto& owner = *static_cast<shared_owner*>(data);
  if (owner_share::drop(owner)) leave_program_chore(owner);
}

}  // namespace

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
  owned_.reserve(static_cast<std::size_t>(there));
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
    owned_.push_back(share.get());
  }
}

node_owners::~node_owners() { give_up(graph_, objects_); }

void node_owners::keep_for(CUgraphNode node) noexcept {
  std::vector<CUuserObject> before;
  try {
    before = note_owners(graph_, node, objects_, owned_);
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

}  // namespace weir::detail
