// SPDX-License-Identifier: Apache-2.0
// cases/memory/memset.cpp - memsets.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

// Returns the address of host memory, for copies that take any address.
}  // namespace

void memset_cases() {
  add("memset.widths", [](Rec& r) {
    uint32_t w[4] = {0, 0, 0, 0};
    OK(cuMemsetD32(g.dbuf, 0, 4));
    r.k("d8", cuMemsetD8(g.dbuf, 0xab, 3));
    OK(cuMemcpyDtoH(w, g.dbuf, 16));
    r.k("d8_word", w[0] == 0x00abababu);
    r.k("d16", cuMemsetD16(g.dbuf + 4, 0xbeef, 2));
    OK(cuMemcpyDtoH(w, g.dbuf, 16));
    r.k("d16_word", w[1] == 0xbeefbeefu);
    r.k("d32", cuMemsetD32(g.dbuf + 8, 0xcafef00du, 1));
    OK(cuMemcpyDtoH(w, g.dbuf, 16));
    r.k("d32_word", w[2] == 0xcafef00du);
    r.k("rest_kept", w[3] == 0);
  });
  add("memset.alignment", [](Rec& r) {
    r.k("d16_odd", cuMemsetD16(g.dbuf + 1, 1, 4));
    r.k("d32_by2", cuMemsetD32(g.dbuf + 2, 1, 4));
    r.k("d32_by1", cuMemsetD32(g.dbuf + 1, 1, 4));
    r.k("d16_async_odd", cuMemsetD16Async(g.dbuf + 1, 1, 4, nullptr));
    r.k("d32_async_by2", cuMemsetD32Async(g.dbuf + 2, 1, 4, nullptr));
    r.k("2d16_odd_pitch", cuMemsetD2D16(g.dbuf, 33, 1, 4, 4));
    r.k("2d32_odd_pitch", cuMemsetD2D32(g.dbuf, 34, 1, 4, 4));
    r.k("2d32_odd_pitch_one_row", cuMemsetD2D32(g.dbuf, 34, 1, 4, 1));
  });
  add("memset.bounds", [](Rec& r) {
    r.k("zero", cuMemsetD8(g.dbuf, 1, 0));
    r.k("null_zero", cuMemsetD8(0, 1, 0));
    r.k("null", cuMemsetD8(0, 1, 4));
    r.k("garbage", cuMemsetD8(0x1234, 1, 4));
    r.k("past_end", cuMemsetD8(g.dbuf + kScratch - 8, 1, 16));
    r.k("past_end_async", cuMemsetD8Async(g.dbuf + kScratch - 8, 1, 16, nullptr));
    r.k("sync", cuCtxSynchronize());
  });
  add("memset.2d", [](Rec& r) {
    OK(cuMemsetD8(g.dbuf, 0, 4096));
    r.k("d8", cuMemsetD2D8(g.dbuf, 256, 5, 16, 4));
    unsigned char b[1024];
    OK(cuMemcpyDtoH(b, g.dbuf, 1024));
    int n = 0;
    for (unsigned char x : b) n += x == 5;
    r.k("bytes_set", n);
    r.k("last_row", b[3 * 256 + 15] == 5 && b[3 * 256 + 16] == 0);
    r.k("pitch_small", cuMemsetD2D8(g.dbuf, 8, 5, 16, 4));
    r.k("pitch0_one_row", cuMemsetD2D8(g.dbuf, 0, 5, 16, 1));
    r.k("width0", cuMemsetD2D8(g.dbuf, 256, 5, 0, 4));
    r.k("height0", cuMemsetD2D8(g.dbuf, 256, 5, 16, 0));
    Stream s(NB);
    r.k("async", cuMemsetD2D16Async(g.dbuf, 256, 6, 8, 4, s));
    OK(cuStreamSynchronize(s));
  });
  add("memset.host_targets", [](Rec& r) {
    g.page[0] = 0;
    r.k("pinned", cuMemsetD8(as_address(g.pin), 3, 16));
    r.k("pinned_value", g.pin[15]);
    r.k("pageable", cuMemsetD8(as_address(g.page), 3, 16));
    cuCtxSynchronize();
    r.k("pageable_value", g.page[0]);
  });
  add("memset.sync_is_async_for_device", [](Rec& r) {
    Stream b(BL);
    ValueGate v;
    v.arm(b);
    record_blocking(r, "memset_device",
                    blocking([&] { v.open(); }, [&] { return cuMemsetD32(g.dbuf, 1, 16); }));
    v.open();
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
