// SPDX-License-Identifier: Apache-2.0
// cases/memory/copy_linear.cpp - linear copies, and which of them block the host.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

// Returns the address of host memory, for copies that take any address.
}  // namespace

void copy_linear_cases() {
  add("copy.roundtrip", [](Rec& r) {
    uint32_t a[4] = {1, 2, 3, 4}, b[4] = {0, 0, 0, 0};
    r.k("htod", cuMemcpyHtoD(g.dbuf, a, 16));
    r.k("dtod", cuMemcpyDtoD(g.dbuf + 4096, g.dbuf, 16));
    r.k("dtoh", cuMemcpyDtoH(b, g.dbuf + 4096, 16));
    r.k("equal", memcmp(a, b, 16) == 0);
    memset(b, 0, 16);
    r.k("unified_htod", cuMemcpy(g.dbuf, as_address(a), 16));
    r.k("unified_dtoh", cuMemcpy(as_address(b), g.dbuf, 16));
    r.k("equal2", memcmp(a, b, 16) == 0);
    memset(b, 0, 16);
    r.k("unified_htoh", cuMemcpy(as_address(b), as_address(a), 16));
    r.k("equal3", memcmp(a, b, 16) == 0);
  });
  add("copy.big_pageable", [](Rec& r) {
    memset(g.page, 7, kScratch / 2);
    r.k("htod", cuMemcpyHtoD(g.dbuf, g.page, kScratch / 2));
    memset(g.page, 0, kScratch / 2);
    r.k("dtoh", cuMemcpyDtoH(g.page, g.dbuf, kScratch / 2));
    bool ok = true;
    for (size_t i = 0; i < kScratch / 2; i += 997) ok = ok && g.page[i] == 7;
    r.k("equal", ok);
  });
  add("copy.zero_bytes", [](Rec& r) {
    r.k("htod", cuMemcpyHtoD(g.dbuf, g.pin, 0));
    r.k("htod_null_src", cuMemcpyHtoD(g.dbuf, nullptr, 0));
    r.k("htod_null_dst", cuMemcpyHtoD(0, g.pin, 0));
    r.k("dtoh_null", cuMemcpyDtoH(nullptr, 0, 0));
    r.k("dtod_null", cuMemcpyDtoD(0, 0, 0));
    r.k("unified_null", cuMemcpy(0, 0, 0));
    r.k("async_null", cuMemcpyHtoDAsync(0, nullptr, 0, nullptr));
    r.k("unified_async_null", cuMemcpyAsync(0, 0, 0, nullptr));
    r.k("memset_null", cuMemsetD8(0, 0, 0));
    r.k("memset_async_null", cuMemsetD8Async(0, 0, 0, nullptr));
  });
  add("copy.bad_pointers", [](Rec& r) {
    r.k("htod_garbage_dst", cuMemcpyHtoD(0x1234, g.pin, 16));
    r.k("dtoh_garbage_src", cuMemcpyDtoH(g.pin, 0x1234, 16));
    r.k("dtod_garbage", cuMemcpyDtoD(g.dbuf, 0x1234, 16));
    r.k("htod_past_end", cuMemcpyHtoD(g.dbuf + kScratch - 8, g.pin, 16));
    r.k("dtoh_past_end", cuMemcpyDtoH(g.pin, g.dbuf + kScratch - 8, 16));
    r.k("dtod_past_end", cuMemcpyDtoD(g.dbuf, g.dbuf + kScratch - 8, 16));
    r.k("async_past_end", cuMemcpyHtoDAsync(g.dbuf + kScratch - 8, g.pin, 16, nullptr));
    r.k("sync", cuCtxSynchronize());
  });
  add("copy.past_end_far", [](Rec& r) {
    // far past the end of the allocation
    DevMem d(4096);
    r.k("htod", cuMemcpyHtoD(d, g.pin, kScratch));
    r.k("sync", cuCtxSynchronize());
  });
  add("copy.wrong_kind", [](Rec& r) {
    DevMem d(4096);
    r.k("htod_to_pinned", cuMemcpyHtoD(as_address(g.pin + 4096), g.pin, 16));
    r.k("dtoh_from_pinned", cuMemcpyDtoH(g.pin, as_address(g.pin + 4096), 16));
    r.k("htod_from_device", cuMemcpyHtoD(d, reinterpret_cast<void*>(g.dbuf), 16));
    r.k("dtoh_to_device", cuMemcpyDtoH(reinterpret_cast<void*>(d.p), g.dbuf, 16));
    r.k("dtod_pageable", cuMemcpyDtoD(d, as_address(g.page), 16));
    r.k("sync", cuCtxSynchronize());
  });
  add("copy.async_pinned_is_async", [](Rec& r) {
    Stream s(NB);
    {
      ValueGate v;
      v.arm(s);
      record_blocking(
          r, "htod",
          blocking([&] { v.open(); }, [&] { return cuMemcpyHtoDAsync(g.dbuf, g.pin, 64, s); }));
      record_blocking(
          r, "dtoh",
          blocking([&] { v.open(); }, [&] { return cuMemcpyDtoHAsync(g.pin, g.dbuf, 64, s); }));
      record_blocking(r, "dtod",
                      blocking([&] { v.open(); },
                               [&] { return cuMemcpyDtoDAsync(g.dbuf + 4096, g.dbuf, 64, s); }));
      record_blocking(
          r, "memset",
          blocking([&] { v.open(); }, [&] { return cuMemsetD8Async(g.dbuf, 1, 64, s); }));
      v.open();
      OK(cuStreamSynchronize(s));
    }
  });
  for (size_t n : {size_t{64}, size_t{65536}, size_t{1} << 20}) {
    add("copy.async_pageable." + std::to_string(n), [n](Rec& r) {
      Stream s(NB);
      auto* w = reinterpret_cast<uint32_t*>(g.page);
      OK(cuMemsetD8(g.dbuf, 0, n));
      w[0] = 81;
      OK(cuCtxSynchronize());
      {
        ValueGate v;
        v.arm(s);
        BlockingResult b =
            blocking([&] { v.open(); }, [&] { return cuMemcpyHtoDAsync(g.dbuf, g.page, n, s); });
        record_blocking(r, "~htod", b);
        // whether a change of the source after the call's return is copied
        w[0] = 82;
        v.open();
        OK(cuStreamSynchronize(s));
        uint32_t got = 0;
        OK(cuMemcpyDtoH(&got, g.dbuf, 4));
        r.k("~source_read_before_return", got == 81);
      }
      {
        OK(cuMemsetD32(g.dbuf, 83, 1));
        OK(cuCtxSynchronize());
        w[0] = 0;
        ValueGate v;
        v.arm(s);
        BlockingResult b =
            blocking([&] { v.open(); }, [&] { return cuMemcpyDtoHAsync(g.page, g.dbuf, n, s); });
        record_blocking(r, "~dtoh", b);
        r.k("~arrived_at_return", w[0] == 83);
        v.open();
        OK(cuStreamSynchronize(s));
        r.k("arrived_after_sync", w[0] == 83);
      }
    });
  }
  add("copy.async_pinned_source_read_late", [](Rec& r) {
    // a pinned source is read in stream order: a change made while the copy waits is copied
    Stream s(NB);
    auto* w = reinterpret_cast<volatile uint32_t*>(g.pin);
    w[0] = 1;
    ValueGate v;
    v.arm(s);
    OK(cuMemcpyHtoDAsync(g.dbuf, g.pin, 65536, s));
    w[0] = 2;
    v.open();
    OK(cuStreamSynchronize(s));
    uint32_t got = 0;
    OK(cuMemcpyDtoH(&got, g.dbuf, 4));
    r.k("~65536_read_late", got == 2);
    w[0] = 3;
    ValueGate u;
    u.arm(s);
    OK(cuMemcpyHtoDAsync(g.dbuf, g.pin, 4, s));
    w[0] = 4;
    u.open();
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&got, g.dbuf, 4));
    r.k("~4_read_late", got == 4);
  });
  add("copy.async_host_to_host", [](Rec& r) {
    Stream s(NB);
    {
      ValueGate v;
      v.arm(s);
      record_blocking(
          r, "~pinned_pinned",
          blocking(
              [&] { v.open(); },
              [&] { return cuMemcpyAsync(as_address(g.pin + 4096), as_address(g.pin), 64, s); }));
      v.open();
      OK(cuStreamSynchronize(s));
    }
    {
      ValueGate v;
      v.arm(s);
      g.page[0] = 91;
      g.page[4096] = 0;
      record_blocking(
          r, "~pageable_pageable",
          blocking(
              [&] { v.open(); },
              [&] { return cuMemcpyAsync(as_address(g.page + 4096), as_address(g.page), 64, s); }));
      r.k("~arrived_at_return", g.page[4096] == 91);
      v.open();
      OK(cuStreamSynchronize(s));
      r.k("arrived_after_sync", g.page[4096] == 91);
    }
  });
}

}  // namespace weir::conformance
