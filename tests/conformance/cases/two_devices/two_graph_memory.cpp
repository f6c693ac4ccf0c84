// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_graph_memory.cpp - memory nodes for device 1, and the access that nodes
// give to other devices.
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

// A node's parameters: memory of a device, and up to two devices with access.
struct Params {
  CUDA_MEM_ALLOC_NODE_PARAMS p = alloc_params(4096);
  CUmemAccessDesc let[2] = {access_from(g.dev), access_from(SecondDevice::dev)};
  explicit Params(CUdevice device, size_t first = 0, size_t count = 0) {
    p.poolProps.location.id = device;
    p.accessDescs = count ? let + first : nullptr;
    p.accessDescCount = count;
  }
  Params(const Params&) = delete;
  Params& operator=(const Params&) = delete;
};

cuuint64_t used(CUdevice device) {
  cuuint64_t v = 0;
  OK(cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
  return v;
}

}  // namespace

void two_graph_memory_cases() {
  add("two.alloc_node_access", SECOND_DEVICE, [](Rec& r) {
    // Which devices may get access, and which kind.
    const SecondDevice device1;
    Graph gr;
    const auto add_one = [&](const char* key, Params& q) {
      CUgraphNode n = nullptr;
      if (r.k(key, cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &q.p)) != CUDA_SUCCESS) return;
      CUDA_MEM_ALLOC_NODE_PARAMS got{};
      OK(cuGraphMemAllocNodeGetParams(n, &got));
      r.k(std::string(key) + ".count", static_cast<unsigned long>(got.accessDescCount));
      for (size_t i = 0; i < got.accessDescCount; i++)
        r.k(std::string(key) + "." + std::to_string(i),
            std::to_string(got.accessDescs[i].location.id) + ":" +
                std::to_string(got.accessDescs[i].flags));
    };
    Params alone(SecondDevice::dev), near(SecondDevice::dev, 0, 1), itself(SecondDevice::dev, 1, 1),
        both(SecondDevice::dev, 0, 2), far_of_near(g.dev, 1, 1);
    add_one("alone", alone);
    add_one("near", near);
    add_one("itself", itself);
    add_one("both", both);
    add_one("far_of_near", far_of_near);
    Params read(SecondDevice::dev, 0, 1), none(SecondDevice::dev, 0, 1),
        beyond(SecondDevice::dev, 0, 1), twice(SecondDevice::dev, 0, 2);
    read.let[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    none.let[0].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    beyond.let[0].location.id = 99;
    twice.let[1] = twice.let[0];
    add_one("read", read);
    add_one("none", none);
    add_one("beyond", beyond);
    add_one("twice", twice);
  });
  for (const bool let : {false, true}) {
    add(std::string("two.alloc_node_run") + (let ? ".let_in" : ".alone"), SECOND_DEVICE | ISO,
        [let](Rec& r) {
          const SecondDevice device1;
          const Stream s(NB);
          Graph gr;
          Params q(SecondDevice::dev, 0, let ? 1 : 0);
          CUgraphNode n = nullptr;
          r.k("add", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &q.p));
          if (!n) return;
          const CUdeviceptr p = q.p.dptr;
          const Exec x(gr);
          r.k("launch", cuGraphLaunch(x, s));
          r.k("sync", cuStreamSynchronize(s));
          rec_device(r, "device", p);
          r.k("far_counts", used(SecondDevice::dev) >= 4096);
          r.k("near_counts", used(g.dev) >= 4096);
          Copied c(r);
          const Words there{device1.ctx, p}, here{g.ctx, g.dbuf};
          c.copy("peer.from", s, here, there,
                 [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, p, device1.ctx, kCopied, s); });
          c.copy("address.from", s, here, there,
                 [&] { return cuMemcpyAsync(g.dbuf, p, kCopied, s); });
          c.copy("address.to", s, there, here,
                 [&] { return cuMemcpyAsync(p, g.dbuf, kCopied, s); });
          Tried t(r);
          t.call("free_in_far", device1.s, [&] { return cuMemFreeAsync(p, device1.s); });
          r.k("launch_again", cuGraphLaunch(x, device1.s));
          r.k("sync_again", cuStreamSynchronize(device1.s));
          t.call("free_in_near", s, [&] { return cuMemFreeAsync(p, s); });
        });
  }
  add("two.alloc_node_and_set", SECOND_DEVICE, [](Rec& r) {
    // Allocated, set by a node of device 1's context, copied to device 0, freed: all in one graph.
    const SecondDevice device1;
    const Stream s(NB);
    Graph gr;
    Params q(SecondDevice::dev, 0, 1);
    CUgraphNode n = nullptr, set = nullptr, copy = nullptr, end = nullptr;
    OK(cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &q.p));
    const auto set_params = memset_params(q.p.dptr, 61, 16);
    r.k("set", cuGraphAddMemsetNode(&set, gr, &n, 1, &set_params, device1.ctx));
    const CUDA_MEMCPY3D copy_params = copy_d2d(g.dbuf, q.p.dptr, kCopied);
    r.k("copy", cuGraphAddMemcpyNode(&copy, gr, &set, 1, &copy_params, g.ctx));
    r.k("free", cuGraphAddMemFreeNode(&end, gr, copy ? &copy : &set, 1, q.p.dptr));
    CUgraphExec x = nullptr;
    if (r.k("instantiate", cuGraphInstantiate(&x, gr, 0)) != CUDA_SUCCESS) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("word", get_word(g.ctx, g.dbuf));
    r.k("launch_far", cuGraphLaunch(x, device1.s));
    r.k("sync_far", cuStreamSynchronize(device1.s));
    cuGraphExecDestroy(x);
    r.k("trim_far", cuDeviceGraphMemTrim(SecondDevice::dev));
    r.k("trim_near", cuDeviceGraphMemTrim(g.dev));
  });
  add("two.alloc_nodes_of_both", SECOND_DEVICE, [](Rec& r) {
    // A graph allocates on both devices.
    const SecondDevice device1;
    const Stream s(NB);
    Graph gr;
    Params here(g.dev), there(SecondDevice::dev);
    CUgraphNode n = nullptr, m = nullptr, k = nullptr, l = nullptr;
    OK(cuGraphAddMemAllocNode(&n, gr, nullptr, 0, &here.p));
    r.k("add_far", cuGraphAddMemAllocNode(&m, gr, &n, 1, &there.p));
    if (!m) return;
    OK(cuGraphAddMemFreeNode(&k, gr, &m, 1, here.p.dptr));
    OK(cuGraphAddMemFreeNode(&l, gr, &k, 1, there.p.dptr));
    CUgraphExec x = nullptr;
    if (r.k("instantiate", cuGraphInstantiate(&x, gr, 0)) != CUDA_SUCCESS) return;
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    cuGraphExecDestroy(x);
  });
}

}  // namespace weir::conformance
