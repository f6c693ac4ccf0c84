// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_copies.cpp - linear copies of device 1's memory, by its accessibility, in
// streams of either device.
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

// Device 0's context is current, whatever the stream. Reads of device 1's memory come first,
// because a failing write may end all contexts.
void in_stream(Rec& r, Reached::State state, bool far_stream) {
  const SecondDevice device1;
  const Stream near(NB);
  const CUstream s = far_stream ? device1.s : near.s;
  const Reached reached(state, device1);
  const CUdeviceptr f = reached.p, f2 = f + 4096, n = g.dbuf;
  const Words there{reached.owner, f}, there2{reached.owner, f2}, here{g.ctx, n};
  const Words pinned{nullptr, as_address(g.pin)}, pageable{nullptr, as_address(g.page)};
  Copied c(r);
  c.copy("address.from", s, here, there, [&] { return cuMemcpyAsync(n, f, kCopied, s); });
  c.copy("address.to_pinned", s, pinned, there,
         [&] { return cuMemcpyAsync(as_address(g.pin), f, kCopied, s); });
  c.copy("dtod.from", s, here, there, [&] { return cuMemcpyDtoDAsync(n, f, kCopied, s); });
  c.copy("dtoh", s, pinned, there, [&] { return cuMemcpyDtoHAsync(g.pin, f, kCopied, s); });
  c.copy("dtoh_pageable", s, pageable, there,
         [&] { return cuMemcpyDtoHAsync(g.page, f, kCopied, s); });
  c.copy("peer.from", s, here, there,
         [&] { return cuMemcpyPeerAsync(n, g.ctx, f, device1.ctx, kCopied, s); });
  c.copy("address.to", s, there, here, [&] { return cuMemcpyAsync(f, n, kCopied, s); });
  c.copy("address.within", s, there2, there, [&] { return cuMemcpyAsync(f2, f, kCopied, s); });
  c.copy("address.of_pinned", s, there, pinned,
         [&] { return cuMemcpyAsync(f, as_address(g.pin), kCopied, s); });
  c.copy("dtod.to", s, there, here, [&] { return cuMemcpyDtoDAsync(f, n, kCopied, s); });
  c.copy("dtod.within", s, there2, there, [&] { return cuMemcpyDtoDAsync(f2, f, kCopied, s); });
  c.copy("htod", s, there, pinned, [&] { return cuMemcpyHtoDAsync(f, g.pin, kCopied, s); });
  c.copy("htod_pageable", s, there, pageable,
         [&] { return cuMemcpyHtoDAsync(f, g.page, kCopied, s); });
  c.copy("peer.to", s, there, here,
         [&] { return cuMemcpyPeerAsync(f, device1.ctx, n, g.ctx, kCopied, s); });
  c.copy("peer.within", s, there2, there,
         [&] { return cuMemcpyPeerAsync(f2, device1.ctx, f, device1.ctx, kCopied, s); });
}

// Synchronous copies.
void at_once(Rec& r, Reached::State state) {
  const SecondDevice device1;
  const Reached reached(state, device1);
  const CUdeviceptr f = reached.p, f2 = f + 4096, n = g.dbuf;
  const Words there{reached.owner, f}, there2{reached.owner, f2}, here{g.ctx, n};
  const Words pinned{nullptr, as_address(g.pin)}, pageable{nullptr, as_address(g.page)};
  Copied c(r);
  const CUstream s = nullptr;
  c.copy("address.from", s, here, there, [&] { return cuMemcpy(n, f, kCopied); });
  c.copy("dtod.from", s, here, there, [&] { return cuMemcpyDtoD(n, f, kCopied); });
  c.copy("dtoh", s, pinned, there, [&] { return cuMemcpyDtoH(g.pin, f, kCopied); });
  c.copy("dtoh_pageable", s, pageable, there, [&] { return cuMemcpyDtoH(g.page, f, kCopied); });
  c.copy("peer.from", s, here, there,
         [&] { return cuMemcpyPeer(n, g.ctx, f, device1.ctx, kCopied); });
  c.copy("address.to", s, there, here, [&] { return cuMemcpy(f, n, kCopied); });
  c.copy("address.within", s, there2, there, [&] { return cuMemcpy(f2, f, kCopied); });
  c.copy("dtod.to", s, there, here, [&] { return cuMemcpyDtoD(f, n, kCopied); });
  c.copy("dtod.within", s, there2, there, [&] { return cuMemcpyDtoD(f2, f, kCopied); });
  c.copy("htod", s, there, pinned, [&] { return cuMemcpyHtoD(f, g.pin, kCopied); });
  c.copy("htod_pageable", s, there, pageable, [&] { return cuMemcpyHtoD(f, g.page, kCopied); });
  c.copy("peer.to", s, there, here,
         [&] { return cuMemcpyPeer(f, device1.ctx, n, g.ctx, kCopied); });
}

}  // namespace

void two_copies_cases() {
  add_for_each_state("two.copies_near_stream", NORMAL,
                     [](Rec& r, Reached::State s) { in_stream(r, s, false); });
  add_for_each_state("two.copies_far_stream", NORMAL,
                     [](Rec& r, Reached::State s) { in_stream(r, s, true); });
  add_for_each_state("two.copies_at_once", NORMAL, at_once);
}

}  // namespace weir::conformance
