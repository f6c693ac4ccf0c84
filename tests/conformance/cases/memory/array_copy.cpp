// SPDX-License-Identifier: Apache-2.0
// cases/memory/array_copy.cpp - linear copies to and from arrays.
#include "cases/memory/arrays.hpp"
#include "cases/memory/ranges.hpp"

namespace weir::conformance {

void array_copy_cases() {
  add("array.linear", [](Rec& r) {
    Array a(flat(64)), b(flat(64));
    unsigned char* out = cleared();
    r.k("htoa", cuMemcpyHtoA(a, 0, counted(10), 64));
    r.k("atoh", cuMemcpyAtoH(out, a, 4, 8));
    r.k("atoh_value", static_cast<unsigned>(out[0]));
    r.k("atoa", cuMemcpyAtoA(b, 32, a, 16, 16));
    r.k("atod", cuMemcpyAtoD(g.dbuf, b, 32, 16));
    OK(cuMemcpyDtoH(out, g.dbuf, 16));
    r.k("atod_value", static_cast<unsigned>(out[15]));
    OK(cuMemsetD8(g.dbuf, 7, 64));
    r.k("dtoa", cuMemcpyDtoA(a, 60, g.dbuf, 4));
    OK(cuMemcpyAtoH(out, a, 56, 8));
    r.k("dtoa_before", static_cast<unsigned>(out[3]));
    r.k("dtoa_value", static_cast<unsigned>(out[4]));
  });
  add("array.linear_errors", [](Rec& r) {
    Array a(flat(64));
    unsigned char* out = cleared();
    r.k("htoa_beyond", cuMemcpyHtoA(a, 0, counted(), 65));
    r.k("htoa_offset_beyond", cuMemcpyHtoA(a, 60, counted(), 5));
    r.k("htoa_offset_end", cuMemcpyHtoA(a, 64, counted(), 0));
    r.k("atoh_beyond", cuMemcpyAtoH(out, a, 60, 5));
    r.k("atoa_beyond", cuMemcpyAtoA(a, 60, a, 0, 5));
    r.k("atod_beyond", cuMemcpyAtoD(g.dbuf, a, 60, 5));
    r.k("dtoa_beyond", cuMemcpyDtoA(a, 60, g.dbuf, 5));
    r.k("htoa_null", cuMemcpyHtoA(a, 0, nullptr, 4));
    r.k("atoh_null", cuMemcpyAtoH(nullptr, a, 0, 4));
    r.k("dtoa_null", cuMemcpyDtoA(a, 0, 0, 4));
    r.k("dtoa_garbage", cuMemcpyDtoA(a, 0, 0x1234, 4));
    r.k("atod_past_end", cuMemcpyAtoD(g.dbuf + kScratch - 2, a, 0, 4));
    r.k("zero", cuMemcpyHtoA(a, 0, counted(), 0));
    r.k("zero_null", cuMemcpyHtoA(a, 0, nullptr, 0));
  });
  add("array.linear_null_array", [](Rec& r) {
    unsigned char* out = cleared();
    r.k("htoa", cuMemcpyHtoA(nullptr, 0, counted(), 4));
    r.k("atoh", cuMemcpyAtoH(out, nullptr, 0, 4));
    r.k("zero", cuMemcpyHtoA(nullptr, 0, counted(), 0));
  });
  add("array.linear_elements", [](Rec& r) {
    Array a(flat(16, 0, CU_AD_FORMAT_FLOAT)), b(flat(16, 0, CU_AD_FORMAT_UNSIGNED_INT32)),
        c(flat(64));
    unsigned char* out = cleared();
    r.k("fill", cuMemcpyHtoA(a, 0, counted(), 64));
    r.k("odd_offset", cuMemcpyHtoA(a, 2, counted(), 4));
    r.k("odd_size", cuMemcpyHtoA(a, 0, counted(), 3));
    r.k("atoh_odd", cuMemcpyAtoH(out, a, 1, 1));
    r.k("other_format", cuMemcpyAtoA(b, 0, a, 0, 16));
    r.k("other_size", cuMemcpyAtoA(c, 0, a, 0, 16));
    r.k("other_size_odd", cuMemcpyAtoA(c, 1, a, 0, 16));
  });
  add("array.linear_plane", [](Rec& r) {
    Array a(flat(16, 4));
    unsigned char* out = cleared();
    const CUDA_MEMCPY2D clear = to_array(a, out, 16, 4);
    OK(cuMemcpy2D(&clear));
    r.k("row", cuMemcpyHtoA(a, 0, counted(), 16));
    r.k("second_row", cuMemcpyHtoA(a, 16, counted(50), 16));
    r.k("two_rows", cuMemcpyHtoA(a, 0, counted(), 32));
    r.k("whole", cuMemcpyHtoA(a, 0, counted(100), 64));
    const CUDA_MEMCPY2D back = from_array(out, a, 16, 4);
    OK(cuMemcpy2D(&back));
    for (unsigned row = 0; row < 4; row++)
      r.k("row" + std::to_string(row), static_cast<unsigned>(out[16 * row]));
    r.k("atoh_across", cuMemcpyAtoH(out, a, 8, 16));
    r.k("beyond", cuMemcpyHtoA(a, 32, counted(), 33));
  });
  add("array.linear_async", [](Rec& r) {
    Array a(flat(64));
    Stream s(NB);
    unsigned char* out = cleared();
    r.k("htoa", cuMemcpyHtoAAsync(a, 0, counted(20), 64, s));
    r.k("atoh", cuMemcpyAtoHAsync(out, a, 8, 8, s));
    OK(cuStreamSynchronize(s));
    r.k("value", static_cast<unsigned>(out[0]));
    r.k("null_stream", cuMemcpyHtoAAsync(a, 0, counted(20), 64, nullptr));
    r.k("beyond", cuMemcpyAtoHAsync(out, a, 60, 8, s));
    OK(cuCtxSynchronize());
  });
  add("array.linear_async_held", [](Rec& r) {
    Array a(flat(64));
    Stream s(NB);
    unsigned char* out = cleared();
    ValueGate v;
    v.arm(s);
    record_blocking(
        r, "htoa",
        blocking([&] { v.open(); }, [&] { return cuMemcpyHtoAAsync(a, 0, counted(30), 64, s); }));
    record_blocking(
        r, "atoh",
        blocking([&] { v.open(); }, [&] { return cuMemcpyAtoHAsync(out, a, 0, 64, s); }));
    r.k("held", out[0] == 0);
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("value", static_cast<unsigned>(out[0]));
  });
  add("array.in_capture", [](Rec& r) {
    Array a(flat(64));
    CUDA_ARRAY_DESCRIPTOR said{};
    rec_in_capture(r, "descriptor", [&] { return cuArrayGetDescriptor(&said, a); });
    rec_in_capture(r, "htoa", [&] { return cuMemcpyHtoA(a, 0, counted(), 64); });
    rec_in_capture(r, "destroy", [&] { return a.destroy(); });
  });
  add("array.captured", [](Rec& r) {
    Array a(flat(64));
    Stream s(NB);
    unsigned char* out = cleared();
    begin(s);
    r.k("htoa", cuMemcpyHtoAAsync(a, 0, counted(40), 64, s));
    const CUDA_MEMCPY2D back = from_array(out, a, 64, 1);
    r.k("box", cuMemcpy2DAsync(&back, s));
    Graph graph(end_ok(s));
    r.k("types", listed_types(graph));
    CUDA_MEMCPY3D params{};
    for (CUgraphNode node : nodes_of(graph)) {
      if (r.k("params", cuGraphMemcpyNodeGetParams(node, &params)) != CUDA_SUCCESS) continue;
      // The driver lists the two in any order.
      r.k("~src_type", static_cast<unsigned>(params.srcMemoryType));
      r.k("~dst_type", static_cast<unsigned>(params.dstMemoryType));
      r.k("same_array", params.srcArray == a.a || params.dstArray == a.a);
      r.k("width", params.WidthInBytes);
      r.k("height", params.Height);
      r.k("depth", params.Depth);
    }
    Exec exec(graph);
    r.k("launch", cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    r.k("value", static_cast<unsigned>(out[0]));
  });
  add("array.other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Array a(flat(64));
    OK(cuMemcpyHtoA(a, 0, counted(60), 64));
    unsigned char* out = cleared();
    CUDA_ARRAY_DESCRIPTOR said{};
    Current cur(o);
    r.k("descriptor", cuArrayGetDescriptor(&said, a));
    r.k("atoh", cuMemcpyAtoH(out, a, 0, 64));
    r.k("value", static_cast<unsigned>(out[0]));
  });
}

}  // namespace weir::conformance
