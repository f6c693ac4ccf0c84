// SPDX-License-Identifier: Apache-2.0
// api/graph/user_object.cpp - user objects of the driver, by which graphs keep data alive.
#include "api/graph/user_object.hpp"

#include "api/deferred/reclaimer.hpp"

namespace weir::detail {
namespace {

// The driver calls this function when the graph, its clones and their executables have released the
// user object. No destructor of the program may run on that thread, so it is deferred.
void CUDA_CB drop_owner(void* data) {
  auto& owner = *static_cast<keep_alive*>(data);
  if (keep_alive_ref::release_reference(owner)) defer_user_destructor(owner);
}

}  // namespace

CUuserObject create_user_object(void* data, CUhostFn destroy, subject object, call_site at) {
  CUuserObject user_object = nullptr;
  check(driver().cuUserObjectCreate(&user_object, data, destroy, 1,
                                    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", object, at);
  return user_object;
}

void move_to_graph(CUgraph graph, CUuserObject user_object, call_site at) {
  const CUresult answer =
      driver().cuGraphRetainUserObject(graph, user_object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (answer == CUDA_SUCCESS) return;
  report_if_failed(driver().cuUserObjectRelease(user_object, 1), "cuUserObjectRelease",
                   subject::graph(graph));
  check(answer, "cuGraphRetainUserObject", subject::graph(graph), at);
}

kept_owner move_to_graph(CUgraph graph, keep_alive_ref owner, call_site at) {
  const CUuserObject user_object =
      create_user_object(owner.get(), &drop_owner, subject::graph(graph), at);
  keep_alive* const kept = owner.release();  // the user object owns the reference from now on
  move_to_graph(graph, user_object, at);
  return {user_object, kept};
}

void release_owners(CUgraph graph, const std::vector<kept_owner>& owners) noexcept {
  for (const kept_owner& kept : owners) {
    report_if_failed(driver().cuGraphReleaseUserObject(graph, kept.user_object, 1),
                     "cuGraphReleaseUserObject", subject::graph(graph));
  }
}

}  // namespace weir::detail
