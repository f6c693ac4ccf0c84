// SPDX-License-Identifier: Apache-2.0
// cases/capture/matrix_graphs.cpp - calls during a capture: graphs, their nodes and their
// executables.
#include "cases/capture/capture_matrix.hpp"

namespace weir::conformance {

MatrixCalls matrix_graphs() {
  return {
      // ---- graphs ----
      {"graph_destroy",
       [](MatrixEnv& e) {
         CUresult x = cuGraphDestroy(e.graph2);
         if (x == CUDA_SUCCESS) e.graph2 = nullptr;
         return x;
       }},
      {"graph_clone",
       [](MatrixEnv& e) {
         CUgraph q = nullptr;
         CUresult x = cuGraphClone(&q, e.graph2);
         if (x == CUDA_SUCCESS) e.undo.push_back([q] { cuGraphDestroy(q); });
         return x;
       }},
      {"graph_add_memset",
       [](MatrixEnv& e) {
         CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 1);
         CUgraphNode n = nullptr;
         return cuGraphAddMemsetNode(&n, e.graph, nullptr, 0, &p, g.ctx);
       }},
      {"graph_add_alloc",
       [](MatrixEnv& e) {
         CUDA_MEM_ALLOC_NODE_PARAMS p{};
         p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
         p.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
         p.poolProps.location.id = g.dev;
         p.bytesize = 64;
         CUgraphNode n = nullptr;
         return cuGraphAddMemAllocNode(&n, e.graph, nullptr, 0, &p);
       }},
      {"graph_add_child",
       [](MatrixEnv& e) {
         CUgraphNode n = nullptr;
         return cuGraphAddChildGraphNode(&n, e.graph, nullptr, 0, e.graph2);
       }},
      {"graph_destroy_node", [](MatrixEnv& e) { return cuGraphDestroyNode(e.node_host); }},
      {"graph_get_nodes",
       [](MatrixEnv& e) {
         size_t n = 0;
         return cuGraphGetNodes(e.graph2, nullptr, &n);
       }},
      {"graph_debug_dot",
       [](MatrixEnv& e) { return cuGraphDebugDotPrint(e.graph2, "/dev/null", 0); }},
      {"graph_node_set_params",
       [](MatrixEnv& e) {
         CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 3);
         return cuGraphMemsetNodeSetParams(e.node_set, &p);
       }},
      {"graph_exec_set_memset",
       [](MatrixEnv& e) {
         CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 3);
         return cuGraphExecMemsetNodeSetParams(e.exec3, e.node_set, &p, g.ctx);
       }},
      {"graph_exec_set_host",
       [](MatrixEnv& e) {
         CUDA_HOST_NODE_PARAMS p{};
         p.fn = label_fn;
         p.userData = new_label("z");
         return cuGraphExecHostNodeSetParams(e.exec3, e.node_host, &p);
       }},
      {"graph_node_disable",
       [](MatrixEnv& e) { return cuGraphNodeSetEnabled(e.exec3, e.node_set, 0); }},
      {"graph_exec_flags",
       [](MatrixEnv& e) {
         cuuint64_t f;
         return cuGraphExecGetFlags(e.exec3, &f);
       }},
      {"graph_user_object",
       [](MatrixEnv& e) {
         CUuserObject u = nullptr;
         CUresult x = cuUserObjectCreate(
             &u, nullptr, [](void*) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
         if (x == CUDA_SUCCESS)
           x = cuGraphRetainUserObject(e.graph, u, 1, CU_GRAPH_USER_OBJECT_MOVE);
         return x;
       }},
  };
}

}  // namespace weir::conformance
