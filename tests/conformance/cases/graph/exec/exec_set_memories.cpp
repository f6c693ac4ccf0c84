// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_set_memories.cpp - the memory to which a copy or memset in an executable
// may move: from each kind to each.
#include "cases/memory/managed_memory.hpp"
#include "cases/memory/pool/pools.hpp"
#include "cases/memory/ranges.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

constexpr size_t kCopyBytes = 64;

struct Place {
  const char* name;
  CUdeviceptr at;
};

// Memory of each kind, freed at the end of the case.
class Memories {
 public:
  Memories() : s_(NB) {
    OK(cuMemAlloc(&allocated_, 4096));
    OK(cuMemAllocAsync(&pooled_, 4096, s_));
    OK(cuMemAllocFromPoolAsync(&pooled_apart_, 4096, pool_, s_));
    OK(cuStreamSynchronize(s_));
    OK(open_access(mapped_, kGrain));
  }
  ~Memories() {
    cuMemFreeAsync(pooled_, s_);
    cuMemFreeAsync(pooled_apart_, s_);
    cuStreamSynchronize(s_);
    cuMemFree(allocated_);
  }
  Memories(const Memories&) = delete;
  Memories& operator=(const Memories&) = delete;

  // Returns all kinds; null stands for the graph's own memory.
  std::vector<Place> all() const {
    return {
        {"device", g.dbuf},  {"other", allocated_}, {"pool", pooled_}, {"own_pool", pooled_apart_},
        {"mapped", mapped_}, {"managed", managed_}, {"graph", 0}};
  }

 private:
  Stream s_;
  CUdeviceptr allocated_ = 0, pooled_ = 0, pooled_apart_ = 0;
  Pool pool_;
  Mapped mapped_;
  Managed managed_;
};

CUDA_MEMCPY3D to_place(CUdeviceptr at, bool addresses_only) {
  const CUDA_MEMCPY3D p = copy_h2d(at, g.pin, kCopyBytes);
  return addresses_only ? by_address(p) : p;
}

// Adds a node, after allocating its memory in the graph if it uses the graph's own.
struct WithOwnMemory {
  Graph gr;
  CUdeviceptr own = 0;
  Nodes before;
  explicit WithOwnMemory(bool allocates) {
    if (allocates) before.push_back(add_alloc(gr, {}, 4096, &own));
  }
  CUdeviceptr at(const Place& p) const { return p.at == 0 ? own : p.at; }
};

template <class Change>
void each_to_each(Rec& r, Change change) {
  const Memories memories;
  for (const Place& from : memories.all()) {
    for (const Place& to : memories.all()) {
      WithOwnMemory in(from.at == 0 || to.at == 0);
      r.k(std::string(from.name) + "_to_" + to.name, change(in, in.at(from), in.at(to)));
    }
  }
}

CUresult move_copy(WithOwnMemory& in, CUdeviceptr from, CUdeviceptr to, bool addresses_only) {
  const CUgraphNode node = add_memcpy(in.gr, in.before, to_place(from, addresses_only));
  Exec x(in.gr);
  const CUDA_MEMCPY3D now = to_place(to, addresses_only);
  return cuGraphExecMemcpyNodeSetParams(x, node, &now, g.ctx);
}

}  // namespace

void exec_set_memories_cases() {
  add("exec.set_copy_memories", [](Rec& r) {
    each_to_each(r, [](WithOwnMemory& in, CUdeviceptr from, CUdeviceptr to) {
      return move_copy(in, from, to, false);
    });
  });
  add("exec.set_copy_memories_by_address", [](Rec& r) {
    each_to_each(r, [](WithOwnMemory& in, CUdeviceptr from, CUdeviceptr to) {
      return move_copy(in, from, to, true);
    });
  });
  add("exec.set_set_memories", [](Rec& r) {
    each_to_each(r, [](WithOwnMemory& in, CUdeviceptr from, CUdeviceptr to) {
      const CUgraphNode node = add_memset(in.gr, in.before, from, 1, kCopyBytes);
      Exec x(in.gr);
      const CUDA_MEMSET_NODE_PARAMS now = memset_params(to, 2, kCopyBytes);
      return cuGraphExecMemsetNodeSetParams(x, node, &now, g.ctx);
    });
  });
  // A copy between two kinds of memory, by whole graphs.
  add("exec.update_copy_memories", [](Rec& r) {
    const Memories memories;
    for (const Place& from : memories.all()) {
      for (const Place& to : memories.all()) {
        if (from.at == 0 || to.at == 0) continue;
        Graph gr, next;
        add_memcpy(gr, {}, to_place(from.at, true));
        add_memcpy(next, {}, to_place(to.at, true));
        Exec x(gr);
        CUgraphExecUpdateResultInfo info{};
        r.k(std::string(from.name) + "_to_" + to.name, cuGraphExecUpdate(x, next, &info));
      }
    }
  });
}

}  // namespace weir::conformance
