// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_scopes.cpp - conditions in sibling bodies; attributes and sizes of memory that
// nodes allocate.
#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {
namespace {

CUgraph add_condition(CUgraph to, CUgraphConditionalHandle by) {
  CUgraphNodeParams p = cond_params(by, CU_GRAPH_COND_TYPE_IF, 1);
  CUgraphNode n = nullptr;
  OK(cuGraphAddNode(&n, to, nullptr, nullptr, 0, &p));
  return p.conditional.phGraph_out[0];
}

CUgraphConditionalHandle condition_of(CUgraph g1) {
  CUgraphConditionalHandle h = 0;
  OK(cuGraphConditionalHandleCreate(&h, g1, g.ctx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  return h;
}

CUresult add_with(CUgraph to, CUgraphConditionalHandle by) {
  CUgraphNodeParams p = cond_params(by, CU_GRAPH_COND_TYPE_IF, 1);
  CUgraphNode n = nullptr;
  return cuGraphAddNode(&n, to, nullptr, nullptr, 0, &p);
}

void conditions_of_others(Rec& r) {
  Graph root;
  CUgraph one = add_condition(root, condition_of(root));
  CUgraph two = add_condition(root, condition_of(root));
  r.k("of_the_sibling", add_with(two, condition_of(one)));
  r.k("of_the_root", add_with(two, condition_of(root)));
  r.k("of_the_body", add_with(root, condition_of(two)));
  r.k("own", add_with(two, condition_of(two)));
  CUgraphExec x = nullptr;
  r.k("instantiate", cuGraphInstantiate(&x, root, 0));
  if (x) cuGraphExecDestroy(x);
}

void attributes_before_the_first_launch(Rec& r) {
  Stream s(NB);
  Graph gr;
  CUdeviceptr p = 0;
  add_alloc(gr, {}, 4096, &p);
  const auto ask = [&](const std::string& when) {
    unsigned type = 0, managed = 7;
    int ordinal = -7;
    CUdeviceptr start = 0;
    size_t size = 0;
    if (r.k(when + ".type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p)) ==
        CUDA_SUCCESS)
      r.k(when + ".type_is", static_cast<int>(type));
    if (r.k(when + ".ordinal", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                     p)) == CUDA_SUCCESS)
      r.k(when + ".ordinal_is", ordinal);
    if (r.k(when + ".managed",
            cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p)) == CUDA_SUCCESS)
      r.k(when + ".managed_is", static_cast<int>(managed));
    if (r.k(when + ".range", cuMemGetAddressRange(&start, &size, p)) == CUDA_SUCCESS)
      r.k(when + ".range_is_it", start == p && size == 4096);
  };
  ask("added");
  Exec x(gr);
  ask("instantiated");
  OK(cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
  ask("launched");
  OK(cuMemFree(p));
  ask("freed");
}

// A copy into a node's allocation can be set before the first launch and after it.
void set_beside_an_allocation(Rec& r) {
  Stream s(NB);
  Graph gr;
  CUdeviceptr p = 0;
  CUgraphNode a = add_alloc(gr, {}, 4096, &p);
  CUgraphNode copy = add_memcpy(gr, {a}, copy_h2d(p, g.pin, 64));
  add_free(gr, {copy}, p);
  Exec x(gr);
  CUDA_MEMCPY3D now = copy_h2d(p + 64, g.pin + 64, 64);
  r.k("before", cuGraphExecMemcpyNodeSetParams(x, copy, &now, g.ctx));
  r.k("launch", cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
  r.k("after", cuGraphExecMemcpyNodeSetParams(x, copy, &now, g.ctx));
  now = copy_h2d(g.dbuf, g.pin, 64);
  r.k("to_other_memory", cuGraphExecMemcpyNodeSetParams(x, copy, &now, g.ctx));
  r.k("launch_again", cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
}

void sizes_of_allocations(Rec& r) {
  for (const int power : {37, 38, 39, 40, 47, 48, 62}) {
    Graph gr;
    CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(size_t{1} << power);
    CUgraphNode n = nullptr;
    r.k("bytes_2_to_" + std::to_string(power), cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &p));
  }
}

}  // namespace

void graph_scope_cases() {
  add("cond.of_other_parts", conditions_of_others);
  add("gmem.attributes_before_launch", attributes_before_the_first_launch);
  add("gmem.set_beside_allocation", set_beside_an_allocation);
  add("gmem.sizes", ISO, sizes_of_allocations);
}

}  // namespace weir::conformance
