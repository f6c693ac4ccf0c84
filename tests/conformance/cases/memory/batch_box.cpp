// SPDX-License-Identifier: Apache-2.0
// cases/memory/batch_box.cpp - batches of three-dimensional copies.
#include "cases/memory/arrays.hpp"
#include "cases/memory/ranges.hpp"

namespace weir::conformance {
namespace {

CUmemcpy3DOperand at_pointer(CUdeviceptr p, size_t row = 0, size_t layer = 0) {
  CUmemcpy3DOperand side{};
  side.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  side.op.ptr.ptr = p;
  side.op.ptr.rowLength = row;
  side.op.ptr.layerHeight = layer;
  return side;
}

CUmemcpy3DOperand at_host(const void* p, size_t row = 0, size_t layer = 0) {
  return at_pointer(reinterpret_cast<CUdeviceptr>(p), row, layer);
}

CUmemcpy3DOperand in_array(CUarray a, size_t x = 0, size_t y = 0, size_t z = 0) {
  CUmemcpy3DOperand side{};
  side.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  side.op.array.array = a;
  side.op.array.offset = {x, y, z};
  return side;
}

CUDA_MEMCPY3D_BATCH_OP box(const CUmemcpy3DOperand& dst, const CUmemcpy3DOperand& src, size_t width,
                           size_t height = 1, size_t depth = 1) {
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src = src;
  op.dst = dst;
  op.extent = {width, height, depth};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return op;
}

CUresult run_box(CUDA_MEMCPY3D_BATCH_OP op, CUstream s, unsigned long long flags = 0) {
  return cuMemcpy3DBatchAsync(1, &op, flags, s);
}

}  // namespace

void batch_box_cases() {
  add("batch.box_pointers", [](Rec& r) {
    Stream s(NB);
    counted();
    OK(cuMemsetD8(g.dbuf, 0, 4096));
    OK(cuCtxSynchronize());
    CUDA_MEMCPY3D_BATCH_OP ops[2] = {box(at_pointer(g.dbuf, 32, 8), at_host(g.pin, 16, 4), 8, 2, 2),
                                     box(at_pointer(g.dbuf + 2048), at_host(g.pin), 8, 2, 2)};
    r.k("two", cuMemcpy3DBatchAsync(2, ops, 0, s));
    OK(cuStreamSynchronize(s));
    r.k("second_row", get_byte(g.dbuf + 32));
    r.k("second_layer", get_byte(g.dbuf + 32 * 8));
    r.k("packed_second_layer", get_byte(g.dbuf + 2048 + 16));
    r.k("between_rows", get_byte(g.dbuf + 8));
  });
  add("batch.box_errors", [](Rec& r) {
    Stream s(NB);
    const CUDA_MEMCPY3D_BATCH_OP good = box(at_pointer(g.dbuf), at_host(g.pin), 8, 2, 2);
    CUDA_MEMCPY3D_BATCH_OP op = good;
    r.k("count0", cuMemcpy3DBatchAsync(0, &op, 0, s));
    r.k("null_list", cuMemcpy3DBatchAsync(1, nullptr, 0, s));
    r.k("flags1", run_box(good, s, 1));
    r.k("null_stream", run_box(good, nullptr));
    r.k("legacy", run_box(good, LEGACY));
    r.k("per_thread", run_box(good, PER_THREAD));
    r.k("width0", run_box(box(at_pointer(g.dbuf), at_host(g.pin), 0, 2, 2), s));
    r.k("height0", run_box(box(at_pointer(g.dbuf), at_host(g.pin), 8, 0, 2), s));
    r.k("depth0", run_box(box(at_pointer(g.dbuf), at_host(g.pin), 8, 2, 0), s));
    r.k("row_short", run_box(box(at_pointer(g.dbuf, 7), at_host(g.pin), 8, 2, 2), s));
    r.k("layer_short", run_box(box(at_pointer(g.dbuf, 8, 1), at_host(g.pin), 8, 2, 2), s));
    r.k("layer_short_of_one", run_box(box(at_pointer(g.dbuf, 8, 1), at_host(g.pin), 8, 2, 1), s));
    r.k("null_dst", run_box(box(at_pointer(0), at_host(g.pin), 8, 2, 2), s));
    r.k("past_end", run_box(box(at_pointer(g.dbuf + kScratch - 16), at_host(g.pin), 8, 2, 2), s));
    OK(cuCtxSynchronize());
  });
  add("batch.box_garbage", ISO, [](Rec& r) {
    Stream s(NB);
    r.k("res", run_box(box(at_pointer(0x1234), at_host(g.pin), 8, 2, 2), s));
  });
  add("batch.box_attributes", [](Rec& r) {
    Stream s(NB);
    const CUDA_MEMCPY3D_BATCH_OP good = box(at_pointer(g.dbuf), at_host(g.pin), 8, 2, 2);
    for (unsigned order : {0u, 2u, 3u, 4u}) {
      CUDA_MEMCPY3D_BATCH_OP op = good;
      op.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(order);
      r.k("o" + std::to_string(order), run_box(op, s));
    }
    for (unsigned flags : {1u, 2u}) {
      CUDA_MEMCPY3D_BATCH_OP op = good;
      op.flags = flags;
      r.k("f" + std::to_string(flags), run_box(op, s));
    }
    for (unsigned type : {0u, 3u}) {
      CUDA_MEMCPY3D_BATCH_OP op = good;
      op.dst.type = static_cast<CUmemcpy3DOperandType>(type);
      r.k("t" + std::to_string(type), run_box(op, s));
    }
    CUDA_MEMCPY3D_BATCH_OP op = good;
    op.dst.op.ptr.locHint = place(CU_MEM_LOCATION_TYPE_DEVICE, 99);
    r.k("hint99", run_box(op, s));
    OK(cuCtxSynchronize());
  });
  add("batch.box_arrays", [](Rec& r) {
    Stream s(NB);
    Array a(flat(8, 4, CU_AD_FORMAT_UNSIGNED_INT16)), b(flat(8, 4, CU_AD_FORMAT_UNSIGNED_INT16)),
        bytes(flat(8, 4));
    unsigned char* out = cleared();
    r.k("to", run_box(box(in_array(a), at_host(counted()), 8, 4), s));
    r.k("from_part", run_box(box(at_host(out), in_array(a, 2, 1), 4, 2), s));
    OK(cuStreamSynchronize(s));
    r.k("first", static_cast<unsigned>(out[0]));
    r.k("second_row", static_cast<unsigned>(out[8]));
    r.k("array_to_array", run_box(box(in_array(b, 4), in_array(a), 4, 4), s));
    r.k("from", run_box(box(at_host(out), in_array(b, 4), 1, 1), s));
    OK(cuStreamSynchronize(s));
    r.k("moved", static_cast<unsigned>(out[0]));
    r.k("other_element", run_box(box(in_array(bytes), in_array(a), 4, 4), s));
    r.k("too_wide", run_box(box(in_array(a, 1), at_host(g.pin), 8, 4), s));
    r.k("too_high", run_box(box(in_array(a, 0, 1), at_host(g.pin), 8, 4), s));
    r.k("z_beyond", run_box(box(in_array(a, 0, 0, 1), at_host(g.pin), 8, 4), s));
    r.k("depth2", run_box(box(in_array(a), at_host(g.pin), 8, 4, 2), s));
    OK(cuStreamSynchronize(s));
  });
  add("batch.box_null_array", ISO, [](Rec& r) {
    Stream s(NB);
    r.k("res", run_box(box(in_array(nullptr), at_host(g.pin), 8, 4), s));
  });
  add("batch.box_lines", [](Rec& r) {
    Stream s(NB);
    Array line(flat(16)), solid_array(solid(8, 4, 2));
    unsigned char* out = cleared();
    r.k("line_height1", run_box(box(in_array(line), at_host(counted()), 16), s));
    r.k("line_height0", run_box(box(in_array(line), at_host(g.pin), 16, 0, 0), s));
    r.k("solid", run_box(box(in_array(solid_array), at_host(g.pin), 8, 4, 2), s));
    r.k("solid_part", run_box(box(at_host(out), in_array(solid_array, 1, 1, 1), 2, 2), s));
    OK(cuStreamSynchronize(s));
    r.k("value", static_cast<unsigned>(out[0]));
  });
  add("batch.box_captured", [](Rec& r) {
    Stream s(NB);
    begin(s);
    r.k("batch", run_box(box(at_pointer(g.dbuf), at_host(g.pin), 8, 2, 2), s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("batch.box_during_call", [](Rec& r) {
    Stream s(NB);
    g.page[0] = 111;
    CUDA_MEMCPY3D_BATCH_OP op = box(at_pointer(g.dbuf), at_host(g.page), 64);
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    ValueGate v;
    v.arm(s);
    record_blocking(r, "~during_call", blocking([&] { v.open(); }, [&] { return run_box(op, s); }));
    g.page[0] = 112;
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("value", get_byte(g.dbuf));
  });
}

}  // namespace weir::conformance
