// SPDX-License-Identifier: Apache-2.0
// cases/memory/batch_copy.cpp - batches of linear copies: attributes, hints, invalid entries,
// capture.
#include "cases/memory/ranges.hpp"

namespace weir::conformance {
namespace {

// Two valid copies of 64 bytes from pinned memory to the device, with one set of attributes.
struct Batch {
  CUdeviceptr dst[2] = {g.dbuf, g.dbuf + 4096};
  CUdeviceptr src[2] = {as_address(g.pin), as_address(g.pin + 4096)};
  size_t size[2] = {64, 64};
  CUmemcpyAttributes attributes[2] = {};
  size_t first[2] = {0, 1};
  size_t count = 2, kinds = 1;

  Batch() {
    attributes[0].srcAccessOrder = attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  CUresult run(CUstream s) {
    return cuMemcpyBatchAsync(dst, src, size, count, attributes, first, kinds, s);
  }
};

}  // namespace

void batch_copy_cases() {
  add("batch.copy_nulls", [](Rec& r) {
    Stream s(NB);
    Batch b;
    r.k("dsts", cuMemcpyBatchAsync(nullptr, b.src, b.size, 2, b.attributes, b.first, 1, s));
    r.k("srcs", cuMemcpyBatchAsync(b.dst, nullptr, b.size, 2, b.attributes, b.first, 1, s));
    r.k("sizes", cuMemcpyBatchAsync(b.dst, b.src, nullptr, 2, b.attributes, b.first, 1, s));
    r.k("attributes", cuMemcpyBatchAsync(b.dst, b.src, b.size, 2, nullptr, b.first, 1, s));
    r.k("indices", cuMemcpyBatchAsync(b.dst, b.src, b.size, 2, b.attributes, nullptr, 1, s));
    b.dst[1] = 0;
    r.k("second_dst", b.run(s));
    b = Batch();
    b.src[0] = 0;
    r.k("first_src", b.run(s));
    OK(cuStreamSynchronize(s));
  });
  add("batch.copy_flags", [](Rec& r) {
    Stream s(NB);
    for (unsigned flags : {1u, 2u, 3u, 0x80000000u}) {
      Batch b;
      b.attributes[0].flags = flags;
      r.k("f" + std::to_string(flags), b.run(s));
    }
    for (unsigned order : {1u, 2u, 3u, 4u}) {
      Batch b;
      b.attributes[0].srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(order);
      r.k("o" + std::to_string(order), b.run(s));
    }
    Batch b;
    b.attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    r.k("unused_attribute_invalid", b.run(s));
    OK(cuStreamSynchronize(s));
  });
  add("batch.copy_hints", [](Rec& r) {
    Stream s(NB);
    for (int type : {1, 2, 3, 4, 9}) {
      Batch b;
      b.attributes[0].srcLocHint = place(static_cast<CUmemLocationType>(type), 99);
      r.k("src" + std::to_string(type), b.run(s));
      b = Batch();
      b.attributes[0].dstLocHint = place(static_cast<CUmemLocationType>(type), -1);
      r.k("dst" + std::to_string(type), b.run(s));
    }
    OK(cuStreamSynchronize(s));
  });
  add("batch.copy_bad_entry", [](Rec& r) {
    Stream s(NB);
    OK(cuMemsetD8(g.dbuf, 1, 64));
    g.pin[0] = 2;
    Batch b;
    b.src[1] = g.dbuf + kScratch - 8;
    r.k("src_past_end", b.run(s));
    OK(cuStreamSynchronize(s));
    r.k("~first_done", get_byte(g.dbuf) == 2);
    b = Batch();
    b.size[0] = 0;
    r.k("first_size0", b.run(s));
    OK(cuStreamSynchronize(s));
  });
  add("batch.copy_garbage", ISO, [](Rec& r) {
    Stream s(NB);
    Batch b;
    b.dst[1] = 0x1234;
    r.k("res", b.run(s));
  });
  add("batch.copy_kinds", [](Rec& r) {
    Stream s(NB);
    g.page[0] = 33;
    Batch b;
    b.src[0] = as_address(g.page);
    r.k("pageable_to_device", b.run(s));
    OK(cuStreamSynchronize(s));
    r.k("value", get_byte(g.dbuf));
    b = Batch();
    b.src[0] = g.dbuf;
    b.dst[0] = g.dbuf + 8192;
    r.k("device_to_device", b.run(s));
    b = Batch();
    b.src[0] = g.dbuf;
    b.dst[0] = as_address(g.pin + 8192);
    r.k("device_to_pinned", b.run(s));
    OK(cuStreamSynchronize(s));
    b = Batch();
    b.dst[0] = as_address(g.pin + 8192);
    r.k("host_to_host", b.run(s));
    OK(cuStreamSynchronize(s));
    Mapped m;
    b = Batch();
    b.dst[0] = m;
    r.k("to_mapped", b.run(s));
    OK(cuStreamSynchronize(s));
  });
  add("batch.copy_captured", [](Rec& r) {
    Stream s(NB);
    Batch b;
    begin(s);
    r.k("batch", b.run(s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("batch.copy_other_captures", [](Rec& r) {
    Stream s(NB);
    Batch b;
    rec_in_capture(r, "batch", [&] { return b.run(s); });
    rec_in_capture(r, "during_call", [&] {
      b.attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
      return b.run(s);
    });
    OK(cuStreamSynchronize(s));
  });
  add("batch.copy_waits_its_turn", [](Rec& r) {
    Stream s(NB);
    OK(cuMemsetD8(g.dbuf, 0, 64));
    OK(cuCtxSynchronize());
    g.pin[0] = 44;
    ValueGate v;
    v.arm(s);
    Batch b;
    record_blocking(r, "batch", blocking([&] { v.open(); }, [&] { return b.run(s); }));
    g.pin[0] = 45;
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("value", get_byte(g.dbuf));
  });
}

}  // namespace weir::conformance
