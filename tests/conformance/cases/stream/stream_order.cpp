// SPDX-License-Identifier: Apache-2.0
// cases/stream/stream_order.cpp - first in, first out within a stream; independence between
// streams.
#include "probe/probe.hpp"

namespace weir::conformance {

void stream_order_cases() {
  add("stream.fifo_memset", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    for (unsigned i = 1; i <= 50; i++) OK(cuMemsetD32Async(c.d, i, 1, s));
    OK(cuStreamSynchronize(s));
    r.k("last", c.get());
  });
  add("stream.fifo_copy_chain", [](Rec& r) {
    Stream s(NB);
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 5;
    h[1] = 0;
    OK(cuMemcpyHtoDAsync(g.dbuf, h, 4, s));
    OK(cuMemcpyDtoDAsync(g.dbuf + 64, g.dbuf, 4, s));
    OK(cuMemsetD32Async(g.dbuf, 9, 1, s));
    OK(cuMemcpyDtoHAsync(h + 1, g.dbuf + 64, 4, s));
    OK(cuMemcpyDtoHAsync(h + 2, g.dbuf, 4, s));
    OK(cuStreamSynchronize(s));
    r.k("copied", h[1]);
    r.k("later", h[2]);
  });
  add("stream.fifo_mixed_host", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Trace& t = new_trace();
    for (uint32_t i = 1; i <= 5; i++) {
      mark(s, c, i);
      OK(hf_do(s, [&t, c] { t.add(std::to_string(c.get())); }));
    }
    OK(cuStreamSynchronize(s));
    r.k("seen", t.str());
  });
  add("stream.independent_nonblocking", [](Rec& r) {
    Stream a(NB), b(NB);
    Cell c = new_cell(), d = new_cell();
    ValueGate v;
    v.arm(a);
    mark(a, c);
    mark(b, d);
    r.k("other_runs", late(d));
    r.k("blocked_early", early(c));
    v.open();
    r.k("done", late(c));
  });
  add("stream.independent_blocking", [](Rec& r) {
    Stream a(BL), b(BL);
    Cell c = new_cell(), d = new_cell();
    ValueGate v;
    v.arm(a);
    mark(a, c);
    mark(b, d);
    r.k("other_runs", late(d));
    r.k("blocked_early", early(c));
    v.open();
    r.k("done", late(c));
  });
  add("stream.independent_8", [](Rec& r) {
    std::vector<std::unique_ptr<Stream>> s;
    std::vector<Cell> c;
    ValueGate v;
    for (int i = 0; i < 8; i++) {
      s.push_back(std::make_unique<Stream>(NB));
      c.push_back(new_cell());
    }
    v.arm(*s[0]);
    for (int i = 0; i < 8; i++) mark(*s[static_cast<size_t>(i)], c[static_cast<size_t>(i)]);
    int ran = 0;
    for (size_t i = 1; i < 8; i++) ran += late(c[i]) ? 1 : 0;
    r.k("others_ran", ran);
    r.k("first_early", c[0].get() == 1);
    v.open();
    r.k("first_done", late(c[0]));
  });
}

}  // namespace weir::conformance
