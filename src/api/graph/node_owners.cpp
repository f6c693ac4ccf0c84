// api/graph/node_owners.cpp - owners that graphs keep for the parameters of nodes.
#include "api/graph/node_owners.hpp"

#include "api/deferred/reclaimer.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/node_metadata.hpp"

#include <weir/detail/keep_alive.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace weir::detail {
namespace {

// What the driver calls when a graph and all that came of it has let go.
void CUDA_CB drop_share(void* data) {
  auto& owner = *static_cast<keep_alive*>(data);
  if (keep_alive_ref::release_reference(owner)) defer_user_destructor(owner);
}

}  // namespace

// Those that are there already are given up where one fails: the destructor runs from here on.
node_owners::node_owners(CUgraph graph, owner_list owners, call_site at) : node_owners{graph} {
  const std::span all{owners.first, owners.size};
  const auto owner_count =
      std::ranges::count_if(all, [](const keep_alive_ref& s) { return s.get() != nullptr; });
  if (owner_count == 0) return;
  constexpr const char* call = "cuGraphRetainUserObject";
  const subject on = subject::graph(graph);
  if (graph == nullptr) {
    throw_error(errc::invalid_value, call, "a node of an unknown graph",
                "the graph has to keep what the parameters bring along: graph_node{handle, graph}",
                at);
  }
  ensure_metadata(graph, at);
  objects_.reserve(static_cast<std::size_t>(owner_count));
  owned_.reserve(static_cast<std::size_t>(owner_count));
  for (const keep_alive_ref& share : all) {
    if (share.get() == nullptr) continue;
    keep_alive_ref reference = share;
    CUuserObject object = nullptr;
    check(driver().cuUserObjectCreate(&object, reference.get(), &drop_share, 1,
                                      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
          "cuUserObjectCreate", on, at);
    static_cast<void>(reference.release());
    const CUresult answer =
        driver().cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (answer != CUDA_SUCCESS) {
      report_if_failed(driver().cuUserObjectRelease(object, 1), "cuUserObjectRelease", on);
      check(answer, call, on, at);
    }
    objects_.push_back(object);
    owned_.push_back(share.get());
  }
}

node_owners::~node_owners() { release_user_objects(graph_, objects_); }

void node_owners::assign_to(CUgraphNode node) noexcept {
  std::vector<CUuserObject> before;
  try {
    before = set_owners(graph_, node, objects_, owned_);
  } catch (...) {  // without memory the graph keeps both, to its end
  }
  objects_.clear();
  release_user_objects(graph_, before);
}

void release_user_objects(CUgraph graph, const std::vector<CUuserObject>& objects) noexcept {
  for (const CUuserObject object : objects) {
    report_if_failed(driver().cuGraphReleaseUserObject(graph, object, 1),
                     "cuGraphReleaseUserObject", subject::graph(graph));
  }
}

}  // namespace weir::detail
