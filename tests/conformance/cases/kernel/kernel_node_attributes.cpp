// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_node_attributes.cpp - the attributes of kernel nodes, and the function that a
// node names.
#include "cases/graph/graph_update.hpp"
#include "cases/kernel/launches.hpp"

#include <cstring>

namespace weir::conformance {

namespace {

// Records the result of setting and then reading an attribute of a node in a graph built by hand.
void rec_node_set(Rec& r, const std::string& key, CUgraphNode n, const CUlaunchAttribute& a) {
  r.k(key, cuGraphKernelNodeSetAttribute(n, static_cast<CUkernelNodeAttrID>(a.id), &a.value));
}

CUDA_KERNEL_NODE_PARAMS one_thread(CUfunction f) {
  CUDA_KERNEL_NODE_PARAMS p;
  std::memset(&p, 0, sizeof p);
  p.func = f;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  return p;
}

CUgraphNode add_kernel(CUgraph gr, const char* name, unsigned grid = 4) {
  CUDA_KERNEL_NODE_PARAMS p = one_thread(launched_kernel(name));
  p.gridDimX = grid;
  CUgraphNode n = nullptr;
  OK(cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
  return n;
}

// Records whether an executable accepts an update from a graph whose only node has this attribute.
void rec_update_to(Rec& r, const std::string& key, const CUlaunchAttribute& a) {
  Graph gr, other;
  add_kernel(gr, "empty");
  Exec x(gr);
  const CUgraphNode n = add_kernel(other, "empty");
  OK(cuGraphKernelNodeSetAttribute(n, static_cast<CUkernelNodeAttrID>(a.id), &a.value));
  rec_update(r, key, x, other);
}

}  // namespace

void kernel_node_attributes_cases() {
  add("kernel.captured_attributes", [](Rec& r) {
    Stream s(NB);
    Event untimed(CU_EVENT_DISABLE_TIMING);
    const CUfunction empty = launched_kernel("empty");
    begin(s);
    r.k("priority", Launch{.stream = s, .attributes = {priority_of(-2)}}.run(empty));
    r.k("cluster",
        Launch{.grid = {4, 1, 1}, .stream = s, .attributes = {cluster_of(2)}}.run(empty));
    r.k("serial", Launch{.stream = s, .attributes = {serial(1)}}.run(empty));
    r.k("done_event", Launch{.stream = s, .attributes = {done_event(untimed)}}.run(empty));
    r.k("started_event", Launch{.stream = s, .attributes = {started_event(untimed)}}.run(empty));
    Graph gr(end_ok(s));
    r.k("graph", describe(gr));
    const Nodes nodes = nodes_of(gr);
    for (std::size_t i = 0; i < nodes.size() && i < 2; ++i) {
      CUkernelNodeAttrValue v;
      std::memset(&v, 0, sizeof v);
      const std::string key = "node" + std::to_string(i);
      r.k(key + ".priority",
          cuGraphKernelNodeGetAttribute(nodes[i], CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
      r.k(key + ".priority.is", v.priority);
      std::memset(&v, 0, sizeof v);
      r.k(key + ".cluster",
          cuGraphKernelNodeGetAttribute(nodes[i], CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &v));
      r.k(key + ".cluster.is", v.clusterDim.x);
    }
  });
  add("kernel.node_attribute_values", [](Rec& r) {
    Graph gr;
    const CUgraphNode n = add_kernel(gr, "empty");
    const CUgraphNode pairs = add_kernel(gr, "clustered");
    rec_node_set(r, "priority_minus_6", n, priority_of(-6));
    rec_node_set(r, "priority_1", n, priority_of(1));
    CUkernelNodeAttrValue v;
    std::memset(&v, 0, sizeof v);
    OK(cuGraphKernelNodeGetAttribute(n, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
    r.k("priority", v.priority);
    rec_node_set(r, "cluster_2", n, cluster_of(2));
    rec_node_set(r, "cluster_3", n, cluster_of(3));
    rec_node_set(r, "cluster_0", n, cluster_of(0));
    rec_node_set(r, "cluster_64", n, cluster_of(64));
    std::memset(&v, 0, sizeof v);
    OK(cuGraphKernelNodeGetAttribute(n, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &v));
    r.k("cluster", v.clusterDim.x);
    std::memset(&v, 0x11, sizeof v);
    r.k("compiled",
        cuGraphKernelNodeGetAttribute(pairs, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &v));
    r.k("compiled.is", v.clusterDim.x);
    rec_node_set(r, "policy", n, policy_of(CU_SYNC_POLICY_SPIN));
    rec_node_set(r, "serial", n, serial(1));
    rec_node_set(r, "ignore", n, launch_attribute(CU_LAUNCH_ATTRIBUTE_IGNORE));
    rec_node_set(r, "unknown_99", n, launch_attribute(static_cast<CUlaunchAttributeID>(99)));
    rec_node_set(r, "updatable_0", n, updatable(0));
    for (unsigned id = 0; id <= 17; ++id) {
      std::memset(&v, 0, sizeof v);
      r.k("get_" + std::to_string(id),
          cuGraphKernelNodeGetAttribute(n, static_cast<CUkernelNodeAttrID>(id), &v));
    }
  });
  add("kernel.exec_update_attributes", [](Rec& r) {
    rec_update_to(r, "priority", priority_of(-2));
    rec_update_to(r, "cluster", cluster_of(2));
    CUlaunchAttribute c = launch_attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    c.value.cooperative = 1;
    rec_update_to(r, "cooperative", c);
    CUlaunchAttribute d = launch_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
    d.value.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(1);
    rec_update_to(r, "domain", d);
    CUlaunchAttribute o = launch_attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    o.value.sharedMemCarveout = 50;
    rec_update_to(r, "carveout", o);
  });
  add("kernel.node_function", [](Rec& r) {
    // both ways to name the function in a node's parameters
    Graph gr;
    CUDA_KERNEL_NODE_PARAMS p = one_thread(launched_kernel("empty"));
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    OK(cuLibraryLoadData(&library, asked_module(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cuLibraryGetKernel(&kernel, library, "empty"));
    CUgraphNode n = nullptr;
    p.kern = kernel;
    r.k("both", cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
    p.func = nullptr;
    r.k("kernel", cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
    CUDA_KERNEL_NODE_PARAMS got;
    std::memset(&got, 0, sizeof got);
    r.k("get", cuGraphKernelNodeGetParams(n, &got));
    r.k("get.has_function", got.func != nullptr);
    r.k("get.kernel_same", got.kern == kernel);
    r.k("get.has_context", got.ctx != nullptr);
    CUdevice dev = 0;
    OK(cuCtxGetDevice(&dev));
    int can = -7;
    OK(cuDeviceGetAttribute(&can, static_cast<CUdevice_attribute>(120), dev));
    r.k("cluster_launch", can);
    OK(cuLibraryUnload(library));
  });
  add("kernel.node_function_junk_context", [](Rec& r) {
    Graph gr;
    CUDA_KERNEL_NODE_PARAMS p = one_thread(launched_kernel("empty"));
    p.ctx = reinterpret_cast<CUcontext>(std::uintptr_t{0x1234560});
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
  });
  add("kernel.node_kernel_as_function", [](Rec& r) {
    Graph gr;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    OK(cuLibraryLoadData(&library, asked_module(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cuLibraryGetKernel(&kernel, library, "empty"));
    const CUDA_KERNEL_NODE_PARAMS p = one_thread(reinterpret_cast<CUfunction>(kernel));
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
    r.k("launch", cuLaunchKernel(p.func, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  });
  add("kernel.node_no_arguments", [](Rec& r) {
    Graph gr;
    const CUDA_KERNEL_NODE_PARAMS p = one_thread(launched_kernel("store"));
    CUgraphNode n = nullptr;
    r.k("add", cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
  });
}

}  // namespace weir::conformance
