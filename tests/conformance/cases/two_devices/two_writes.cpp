// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_writes.cpp - memsets, value writes and waits on device 1's memory by a
// stream of device 0, by its accessibility. Each case has its own process, because an inaccessible
// address may end every context.
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

struct Target {
  const SecondDevice device1;
  const Stream s{NB};
  const Reached reached;
  Tried tried;

  Target(Rec& r, Reached::State state) : reached(state, device1), tried(r) {}
  bool holds(uint32_t v) const {
    for (const CUcontext each : {g.ctx, g.device1}) OK(cuCtxSynchronize_v2(each));
    return get_word(reached.owner, reached.p) == v;
  }
};

void rec_sets(Rec& r, Reached::State state) {
  Target t(r, state);
  const CUdeviceptr p = t.reached.p;
  t.tried.call(
      "d32_async", t.s, [&] { return cuMemsetD32Async(p, 1, 16, t.s); },
      [&] { return t.holds(1); });
  t.tried.call(
      "d8_async", t.s, [&] { return cuMemsetD8Async(p, 2, 64, t.s); },
      [&] { return t.holds(0x02020202); });
  t.tried.call(
      "rectangle_async", t.s, [&] { return cuMemsetD2D32Async(p, 64, 3, 8, 2, t.s); },
      [&] { return t.holds(3); });
  t.tried.call(
      "d32", nullptr, [&] { return cuMemsetD32(p, 4, 16); }, [&] { return t.holds(4); });
  t.tried.call(
      "d8", nullptr, [&] { return cuMemsetD8(p, 5, 64); }, [&] { return t.holds(0x05050505); });
  t.tried.call(
      "rectangle", nullptr, [&] { return cuMemsetD2D32(p, 64, 6, 8, 2); },
      [&] { return t.holds(6); });
  t.tried.call(
      "far_stream", t.device1.s, [&] { return cuMemsetD32Async(p, 7, 16, t.device1.s); },
      [&] { return t.holds(7); });
}

void writes(Rec& r, Reached::State state) {
  Target t(r, state);
  const CUdeviceptr p = t.reached.p;
  t.tried.call(
      "w32", t.s, [&] { return cuStreamWriteValue32(t.s, p, 2, 0); }, [&] { return t.holds(2); });
  t.tried.call(
      "w64", t.s, [&] { return cuStreamWriteValue64(t.s, p, 3, 0); }, [&] { return t.holds(3); });
  t.tried.call(
      "batch", t.s,
      [&] {
        CUstreamBatchMemOpParams op = op_write(p, 4);
        return cuStreamBatchMemOp(t.s, 1, &op, 0);
      },
      [&] { return t.holds(4); });
  t.tried.call(
      "far_stream", t.device1.s, [&] { return cuStreamWriteValue32(t.device1.s, p, 1, 0); },
      [&] { return t.holds(1); });
}

// The word has its value already.
void waits(Rec& r, Reached::State state) {
  Target t(r, state);
  const CUdeviceptr p = t.reached.p;
  put_words(t.reached.owner, p, 5);
  t.tried.call("w32", t.s, [&] { return cuStreamWaitValue32(t.s, p, 5, CU_STREAM_WAIT_VALUE_EQ); });
  t.tried.call("w64", t.s,
               [&] { return cuStreamWaitValue64(t.s, p, 5, CU_STREAM_WAIT_VALUE_GEQ); });
  t.tried.call("far_stream", t.device1.s,
               [&] { return cuStreamWaitValue32(t.device1.s, p, 5, CU_STREAM_WAIT_VALUE_EQ); });
}

}  // namespace

void two_writes_cases() {
  add_for_each_state("two.sets", ISO, rec_sets);
  add_for_each_state("two.value_writes", ISO, writes);
  add_for_each_state("two.value_waits", ISO, waits);
}

}  // namespace weir::conformance
