// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_update_gone.cpp - an executable outlives its graph and the graph that it
// was updated from; the current context during update and launch.
#include "probe/probe.hpp"

#include <functional>

namespace weir::conformance {
namespace {

CUDA_MEMCPY3D addresses(CUdeviceptr to, CUdeviceptr from) {
  return copy_params(CU_MEMORYTYPE_UNIFIED, nullptr, to, CU_MEMORYTYPE_UNIFIED, nullptr, from, 64);
}

class CurrentOrNone {
 public:
  explicit CurrentOrNone(CUcontext now) {
    OK(cuCtxGetCurrent(&before_));
    OK(cuCtxSetCurrent(now));
  }
  CurrentOrNone(const CurrentOrNone&) = delete;
  CurrentOrNone& operator=(const CurrentOrNone&) = delete;
  ~CurrentOrNone() { cuCtxSetCurrent(before_); }

 private:
  CUcontext before_ = nullptr;
};

// Returns the context that is current during recording.
CUcontext* recorded_in() {
  static CUcontext in = nullptr;
  return &in;
}

CUgraph captured(const std::function<void(CUstream)>& body) {
  Stream s(NB);
  const CurrentOrNone in(*recorded_in());
  OK(cuStreamBeginCapture(s, RELAXED));
  body(s);
  CUgraph out = nullptr;
  OK(cuStreamEndCapture(s, &out));
  return out;
}

CUgraph by_hand(const std::function<void(CUgraph)>& body) {
  CUgraph made = nullptr;
  OK(cuGraphCreate(&made, 0));
  body(made);
  return made;
}

CUdeviceptr pool_memory() {
  static const CUdeviceptr block = [] {
    const CurrentOrNone in(g.ctx);
    CUdeviceptr made = 0;
    OK(cuMemAllocAsync(&made, 4096, LEGACY));
    OK(cuStreamSynchronize(LEGACY));
    return made;
  }();
  return block;
}

struct Kind {
  const char* name;
  std::function<CUgraph(int)> make;  // builds one of two variants
};

std::vector<Kind> kinds() {
  return {
      {"set",
       [](int i) {
         return by_hand([=](CUgraph of) { add_memset(of, {}, g.dbuf, static_cast<unsigned>(i)); });
       }},
      {"host",
       [](int i) { return by_hand([=](CUgraph of) { add_label(of, {}, i ? "a" : "b"); }); }},
      {"copy_by_kinds",
       [](int i) {
         return by_hand(
             [=](CUgraph of) { add_memcpy(of, {}, copy_d2h(g.pin + 64 * i, g.dbuf, 64)); });
       }},
      {"copy_by_addresses",
       [](int i) {
         return by_hand([=](CUgraph of) {
           add_memcpy(of, {}, addresses(as_address(g.pin + 64 * i), g.dbuf));
         });
       }},
      {"captured_by_kinds",
       [](int i) {
         return captured([=](CUstream s) { OK(cuMemcpyDtoHAsync(g.pin + 64 * i, g.dbuf, 64, s)); });
       }},
      {"captured_by_addresses",
       [](int i) {
         return captured(
             [=](CUstream s) { OK(cuMemcpyAsync(as_address(g.pin + 64 * i), g.dbuf, 64, s)); });
       }},
      {"captured_across",
       [](int i) {
         return captured(
             [=](CUstream s) { OK(cuMemcpyAsync(g.dbuf + 4096 + 64 * i, g.dbuf, 64, s)); });
       }},
      {"captured_pool_memory",
       [](int i) {
         return captured([=](CUstream s) {
           OK(cuMemcpyAsync(as_address(g.pin + 64 * i), pool_memory(), 64, s));
         });
       }},
      {"captured_set_of_pool_memory",
       [](int i) {
         return captured([=](CUstream s) {
           OK(cuMemsetD32Async(pool_memory(), static_cast<unsigned>(i), 16, s));
         });
       }},
      {"captured_after_set",
       [](int i) {
         return captured([=](CUstream s) {
           OK(cuMemsetD32Async(g.dbuf, static_cast<unsigned>(i), 16, s));
           OK(cuMemcpyAsync(as_address(g.pin), g.dbuf, 64, s));
         });
       }},
      {"captured_same",
       [](int) {
         return captured([=](CUstream s) { OK(cuMemcpyAsync(as_address(g.pin), g.dbuf, 64, s)); });
       }},
      {"memop",
       [](int i) {
         return by_hand([=](CUgraph of) {
           add_memop(of, {}, op_write(g.cells_dev, static_cast<unsigned>(i)));
         });
       }},
      {"child",
       [](int i) {
         return by_hand([=](CUgraph of) {
           Graph child;
           add_memset(child, {}, g.dbuf, static_cast<unsigned>(i));
           add_child(of, {}, child);
         });
       }},
  };
}

CUgraph made_in(CUcontext now, const Kind& kind, int variant) {
  *recorded_in() = now;
  const CUgraph made = kind.make(variant);
  *recorded_in() = g.ctx;
  return made;
}

enum class Update {
  none,
  then_other_gone,
  then_launched_and_gone,
  then_uploaded_and_gone,
  after_first_gone
};

void launch_after(Rec& r, const std::string& name, const Kind& kind, Update update) {
  Stream s(NB);
  CUgraph first = made_in(g.ctx, kind, 0), other = made_in(g.ctx, kind, 1);
  Exec x(first);
  const auto end = [](CUgraph& which) {
    if (which != nullptr) OK(cuGraphDestroy(which));
    which = nullptr;
  };
  if (update == Update::none || update == Update::after_first_gone) end(first);
  OK(cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
  if (update != Update::none) {
    CUgraphExecUpdateResultInfo info{};
    OK(cuGraphExecUpdate(x, other, &info));
    if (update == Update::then_launched_and_gone) OK(cuGraphLaunch(x, s));
    if (update == Update::then_uploaded_and_gone) OK(cuGraphUpload(x, s));
    OK(cuStreamSynchronize(s));
    end(other);
  }
  r.k(name, cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
  end(first);
  end(other);
}

// Recorded and updated without a current context.
void update_from_no_context(Rec& r, const Kind& kind) {
  Stream s(NB);
  Graph first(made_in(g.ctx, kind, 0)), other(made_in(nullptr, kind, 1));
  Exec x(first);
  for (const CUcontext now : {g.ctx, CUcontext{}}) {
    const std::string name = now == nullptr ? "nowhere." : "here.";
    CUgraphExecUpdateResultInfo info{};
    {
      const CurrentOrNone in(now);
      r.k(name + "update", cuGraphExecUpdate(x, other, &info));
    }
    r.k(name + "launch", cuGraphLaunch(x, s));
    r.k(name + "sync", cuStreamSynchronize(s));
  }
}

}  // namespace

void exec_update_gone_cases() {
  for (const Kind& kind : kinds()) {
    add(std::string("exec.launch_graph_gone.") + kind.name, [kind](Rec& r) {
      launch_after(r, "first_gone", kind, Update::none);
      launch_after(r, "other_gone", kind, Update::then_other_gone);
      launch_after(r, "other_gone_launched", kind, Update::then_launched_and_gone);
      launch_after(r, "other_gone_uploaded", kind, Update::then_uploaded_and_gone);
      launch_after(r, "both_gone", kind, Update::after_first_gone);
    });
  }
  for (const Kind& kind : kinds()) {
    // Skips pool memory: without a context such a copy is recorded as another kind, and a driver
    // may crash.
    if (std::string(kind.name) == "captured_pool_memory") continue;
    add(std::string("exec.update_from_no_context.") + kind.name,
        [kind](Rec& r) { update_from_no_context(r, kind); });
  }
}

}  // namespace weir::conformance
