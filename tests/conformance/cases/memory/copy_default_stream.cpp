// SPDX-License-Identifier: Apache-2.0
// cases/memory/copy_default_stream.cpp - synchronous copies and the default streams.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

// Returns the address of host memory, for copies that take any address.
}  // namespace

void copy_default_stream_cases() {
  add("copy.sync_own_default_stream", [](Rec& r) {
    // synchronous copies while the legacy stream is busy
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(r, "htod_pinned",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, g.pin, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(r, "dtoh_pinned",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyDtoH(g.pin, g.dbuf, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(
          r, "htod_pageable",
          blocking([&] { v.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, g.page, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(
          r, "dtod",
          blocking([&] { v.open(); }, [&] { return cuMemcpyDtoD(g.dbuf, g.dbuf + 4096, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(
          r, "unified_dtod",
          blocking([&] { v.open(); }, [&] { return cuMemcpy(g.dbuf, g.dbuf + 4096, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(
          r, "unified_htoh",
          blocking([&] { v.open(); },
                   [&] { return cuMemcpy(as_address(g.page), as_address(g.page + 4096), 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(
          r, "unified_htoh_pinned",
          blocking([&] { v.open(); },
                   [&] { return cuMemcpy(as_address(g.pin), as_address(g.pin + 4096), 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(r, "memset_device",
                      blocking([&] { v.open(); }, [&] { return cuMemsetD8(g.dbuf, 1, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(
          r, "memset_pinned",
          blocking([&] { v.open(); }, [&] { return cuMemsetD8(as_address(g.pin), 1, 64); }));
    }
    OK(cuCtxSynchronize());
  });
  add("copy.sync_memset_pinned_done", [](Rec& r) {
    Cell c = new_cell();
    r.k("memset", cuMemsetD32(c.d, 5, 1));
    r.k("done_at_return", c.get() == 5);
  });
}

}  // namespace weir::conformance
