// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_limits.cpp - occupancy with more shared memory than a function's maximum, and
// what a context and a captured kernel report.
#include "cases/graph/graph_update.hpp"
#include "cases/kernel/launches.hpp"

#include <cstring>
#include <string>

namespace weir::conformance {

void kernel_limits_cases() {
  add("kernel.occupancy_above_maximum", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetFunction(&f, m, "empty"));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
    for (const int shared : {1024, 1025, 49152, 49153}) {
      int blocks = -7;
      const std::string key = "shared_" + std::to_string(shared);
      r.k(key, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128,
                                                           static_cast<size_t>(shared)));
      r.k(key + ".is", blocks);
    }
    OK(cuModuleUnload(m));
  });
  add("kernel.context_flags", ISO, [](Rec& r) {
    const auto resizes = [] {
      unsigned flags = 0;
      OK(cuCtxGetFlags(&flags));
      return (flags & 0x10) != 0;
    };
    Graph gr;
    CUDA_KERNEL_NODE_PARAMS p;
    std::memset(&p, 0, sizeof p);
    p.func = launched_kernel("empty");
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    CUgraphNode n = nullptr;
    OK(cuGraphAddKernelNode(&n, gr, nullptr, 0, &p));
    r.k("added", resizes());
    { Exec x(gr); }
    r.k("instantiated", resizes());
  });
  add("kernel.captured_attribute_values", [](Rec& r) {
    Stream s(NB);
    const CUfunction empty = launched_kernel("empty");
    begin(s);
    r.k("launch", Launch{.stream = s, .attributes = {cluster_of(1)}}.run(empty));
    Graph gr(end_ok(s));
    CUkernelNodeAttrValue v;
    std::memset(&v, 0, sizeof v);
    const CUgraphNode n = nodes_of(gr).at(0);
    r.k("cluster",
        cuGraphKernelNodeGetAttribute(n, CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION, &v));
    r.k("cluster.is", v.clusterDim.x);
    std::memset(&v, 0, sizeof v);
    const auto policy =
        static_cast<CUkernelNodeAttrID>(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    r.k("policy", cuGraphKernelNodeGetAttribute(n, policy, &v));
    r.k("policy.is", static_cast<int>(v.clusterSchedulingPolicyPreference));
  });
}

}  // namespace weir::conformance
