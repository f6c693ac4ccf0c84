// SPDX-License-Identifier: Apache-2.0
// api/graph/user_object.cpp - user objects of the driver, by which graphs keep data alive.
#include "api/graph/user_object.hpp"

namespace weir::detail {

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

void release_user_objects(CUgraph graph, const std::vector<CUuserObject>& user_objects) noexcept {
  for (const CUuserObject user_object : user_objects) {
    report_if_failed(driver().cuGraphReleaseUserObject(graph, user_object, 1),
                     "cuGraphReleaseUserObject", subject::graph(graph));
  }
}

}  // namespace weir::detail
