// SPDX-License-Identifier: Apache-2.0
// sequences/sequence.cpp - runs one sequence of calls, including set-up and clean-up.
#include "sequences/sequence.hpp"

#include "sequences/actions.hpp"
#include "sequences/block_contents.hpp"

namespace weir::sequences {
namespace {

// The actions of a sequence, chosen with probability proportional to their weights.
class action_table {
 public:
  explicit action_table(handles allowed) {
    for (const auto family :
         {stream_actions(), stream_work_actions(), stream_attribute_actions(), event_actions(),
          memory_actions(), host_memory_actions(), managed_actions(), pointer_actions(),
          pool_actions(), copy_actions(), pitched_copy_actions(), set_actions(), value_actions(),
          context_actions(), device_actions(), capture_actions(), graph_actions(),
          gate_actions()}) {
      add(family);
    }
    if (allowed == handles::checked_only) return;
    for (const auto family : {wild_actions(), wild_memory_actions(), wild_node_actions()})
      add(family);
  }

  [[nodiscard]] const action& one(choice_source& d) const {
    unsigned remaining_weight = d.below(weight_);
    for (const action& each : list_) {
      if (remaining_weight < each.weight) return each;
      remaining_weight -= each.weight;
    }
    return list_.back();
  }

 private:
  void add(std::span<const action> family) {
    list_.insert(list_.end(), family.begin(), family.end());
    for (const action& each : family) weight_ += each.weight;
  }

  std::vector<action> list_;
  unsigned weight_ = 0;
};

void step(world& w) {
  static const action_table tame{handles::checked_only}, wild{handles::any};
  if (w.d.one_in(6)) w.thread = w.d.below(thread_count);
  w.per_thread_form = w.d.one_in(8);
  const action& chosen = (w.wild() ? wild : tame).one(w.d);
  w.text.thread(w.thread, w.per_thread_form);
  w.p.threads.run(w.thread, [&] { chosen.act(w); });
}

// Creates initial objects, because most calls need some.
void begin(world& w) {
  w.text.thread(0, false);
  for (unsigned i = 0; i < 2; ++i) {
    for (const auto family : {stream_actions(), event_actions(), memory_actions()})
      family.front().act(w);
  }
}

// Ends the captures that this thread may end.
void end_captures(world& w) {
  const driver_table& d = w.p.driver.plain;
  CUgraph graph = nullptr;
  const auto end = [&](CUstream stream) {
    if (d.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph != nullptr)
      (void)d.cuGraphDestroy(graph);
  };
  for (const stream_object& one : w.streams) end(one.handle);
  for (const CUcontext context : w.p.contexts) {
    (void)d.cuCtxSetCurrent(context);
    end(reinterpret_cast<CUstream>(std::uintptr_t{2}));
  }
}

// Restores a thread's initial state: the primary context is current, and the stack is otherwise
// empty.
void reset_thread(world& w) {
  const driver_table& d = w.p.driver.plain;
  if (w.wild()) end_captures(w);
  CUcontext popped = nullptr;
  while (d.cuCtxPopCurrent_v2(&popped) == CUDA_SUCCESS) {
  }
  (void)d.cuCtxSetCurrent(w.p.contexts[0]);
  auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  (void)d.cuThreadExchangeStreamCaptureMode(&mode);
}

void reset_context(world& w, std::size_t number) {
  const driver_table& d = w.p.driver.plain;
  (void)d.cuCtxSetCurrent(w.p.contexts[number]);
  (void)d.cuCtxSetFlags(w.p.flags[number]);
  (void)d.cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE);
  (void)d.cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
  for (const CUcontext peer : w.p.contexts) (void)d.cuCtxDisablePeerAccess(peer);
}

void clean_up(world& w) {
  const driver_table& d = w.p.driver.plain;
  for (const exec_object& one : w.execs) {
    if (one.live) (void)d.cuGraphExecDestroy(one.handle);
  }
  for (const graph_object& one : w.graphs) {
    if (one.live) (void)d.cuGraphDestroy(one.handle);
  }
  for (const stream_object& one : w.streams) {
    if (one.live) (void)d.cuStreamDestroy_v2(one.handle);
  }
  for (const event_object& one : w.events) {
    if (one.live) (void)d.cuEventDestroy_v2(one.handle);
  }
  sync_all(w);
  for (block& one : w.blocks) {
    if (one.live) release_block(w, one);
  }
  sync_all(w);
  end_wild_memory(w);
  end_wild_nodes(w);
  CUmemoryPool pool = nullptr;
  if (d.cuDeviceGetDefaultMemPool(&pool, w.p.device) == CUDA_SUCCESS) {
    (void)d.cuDeviceSetMemPool(w.p.device, pool);
    (void)d.cuMemPoolTrimTo(pool, 0);
  }
  for (const pool_object& one : w.pools) {
    if (one.live) (void)d.cuMemPoolDestroy(one.handle);
  }
  (void)d.cuDevicePrimaryCtxSetFlags_v2(w.p.device, 0);
  // A reset has freed the gate's page.
  if (w.wild())
    (void)d.cuMemHostRegister_v2(w.p.gate_page.memory.get(), 4096, CU_MEMHOSTREGISTER_PORTABLE);
  for (std::size_t i = w.p.contexts.size(); i-- > 0;) reset_context(w, i);
}

// Records the contents of every block and the host functions that ran, once all work is complete.
void record_final_state(world& w) {
  sync_all(w);
  for (const block& one : w.blocks) {
    if (one.live) w.text.note(contents(w, one));
  }
  for (const std::string& line : w.host.take()) w.text.note(line);
}

}  // namespace

std::string_view run_sequence(process& p, choice_source& d, unsigned length, std::span<char> text) {
  world w{p, d, text};
  begin(w);
  for (unsigned i = 0; i < length && d.has_more(); ++i) step(w);
  w.per_thread_form = false;
  w.text.thread(0, false);
  for (unsigned thread = 0; thread < thread_count; ++thread)
    p.threads.run(thread, [&] { reset_thread(w); });
  record_final_state(w);
  clean_up(w);
  return w.text.text();
}

}  // namespace weir::sequences
