// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/user_object.cpp - cuUserObject*, and the references that graphs hold.
#include "embedded/model/core/user_object.hpp"
#include "embedded/entry/graph/graph_handle.hpp"

#include <climits>
#include <new>

namespace weir::embedded::entry {

namespace {

constexpr bool countable(unsigned references) { return references >= 1 && references <= INT_MAX; }

}  // namespace

// Needs neither cuInit nor a context.
CUresult cuUserObjectCreate(CUuserObject* object, void* data, CUhostFn destroy, unsigned references,
                            unsigned flags) {
  if (object == nullptr || destroy == nullptr || references == 0 ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  try {
    *object = model::make_user_object(data, destroy, references);
    return CUDA_SUCCESS;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned references) {
  if (model::this_process().user_objects.find(object) == nullptr || !countable(references))
    return CUDA_ERROR_INVALID_VALUE;
  model::retain(object, references);
  return CUDA_SUCCESS;
}

// Also accepts a destroyed object, for which it does nothing (model::is_user_object_handle()).
CUresult cuUserObjectRelease(CUuserObject object, unsigned references) {
  if (!model::is_user_object_handle(object) || !countable(references))
    return CUDA_ERROR_INVALID_VALUE;
  model::release(object, references);
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned references,
                                 unsigned flags) {
  return with_graphs([&] {
    model::graph* target_graph = find_graph(graph);
    if (target_graph == nullptr || model::this_process().user_objects.find(object) == nullptr ||
        !countable(references))
      return CUDA_ERROR_INVALID_VALUE;
    if ((flags & ~static_cast<unsigned>(CU_GRAPH_USER_OBJECT_MOVE)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    target_graph->retained_objects.adopt(object, references);
    if (flags != CU_GRAPH_USER_OBJECT_MOVE) model::retain(object, references);
    return CUDA_SUCCESS;
  });
}

// A call may release more references than the graph holds. It then also releases references that
// the program holds.
CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned references) {
  return with_graphs([&] {
    model::graph* target_graph = find_graph(graph);
    if (target_graph == nullptr || !model::is_user_object_handle(object) || !countable(references))
      return CUDA_ERROR_INVALID_VALUE;
    target_graph->retained_objects.forget(object, references);
    model::release(object, references);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
