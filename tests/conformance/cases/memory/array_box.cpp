// SPDX-License-Identifier: Apache-2.0
// cases/memory/array_box.cpp - two- and three-dimensional copies to and from arrays.
#include "cases/memory/arrays.hpp"

namespace weir::conformance {
namespace {

unsigned at(const unsigned char* bytes, size_t i) { return bytes[i]; }

}  // namespace

void array_box_cases() {
  add("array.box2d", [](Rec& r) {
    Array a(flat(16, 4)), b(flat(16, 4));
    unsigned char* out = cleared();
    CUDA_MEMCPY2D in = to_array(a, counted(), 16, 4), back = from_array(out, a, 16, 4);
    r.k("to", cuMemcpy2D(&in));
    r.k("from", cuMemcpy2D(&back));
    r.k("last", at(out, 63));
    back.srcXInBytes = 4;
    back.srcY = 2;
    back.WidthInBytes = 8;
    back.Height = 2;
    r.k("part", cuMemcpy2D(&back));
    r.k("part_first", at(out, 0));
    CUDA_MEMCPY2D across{};
    across.srcMemoryType = across.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    across.srcArray = a;
    across.dstArray = b;
    across.srcY = 1;
    across.dstXInBytes = 8;
    across.WidthInBytes = 8;
    across.Height = 3;
    r.k("array_to_array", cuMemcpy2D(&across));
    back = from_array(out, b, 16, 4);
    OK(cuMemcpy2D(&back));
    r.k("moved", at(out, 8));
    CUDA_MEMCPY2D device = to_array(a, nullptr, 16, 4);
    device.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    device.srcDevice = g.dbuf;
    device.srcPitch = 512;
    OK(cuMemsetD8(g.dbuf, 9, 2048));
    r.k("device_to_array", cuMemcpy2D(&device));
    back = from_array(out, a, 16, 4);
    OK(cuMemcpy2D(&back));
    r.k("device_value", at(out, 63));
  });
  add("array.box2d_errors", [](Rec& r) {
    Array a(flat(16, 4)), wide(flat(16, 4, CU_AD_FORMAT_FLOAT)), line(flat(16));
    CUDA_MEMCPY2D in = to_array(a, counted(), 17, 4);
    r.k("too_wide", cuMemcpy2D(&in));
    in = to_array(a, counted(), 16, 5);
    r.k("too_high", cuMemcpy2D(&in));
    in = to_array(a, counted(), 8, 4);
    in.dstXInBytes = 9;
    r.k("x_beyond", cuMemcpy2D(&in));
    in = to_array(a, counted(), 16, 2);
    in.dstY = 3;
    r.k("y_beyond", cuMemcpy2D(&in));
    in = to_array(a, counted(), 16, 4);
    in.dstPitch = 3;
    r.k("array_pitch", cuMemcpy2D(&in));
    in.dstArray = nullptr;
    r.k("null_array", cuMemcpy2D(&in));
    in = to_array(wide, counted(), 6, 4);
    r.k("part_of_an_element", cuMemcpy2D(&in));
    in = to_array(wide, counted(), 8, 4);
    in.dstXInBytes = 2;
    r.k("between_elements", cuMemcpy2D(&in));
    in = to_array(line, counted(), 16, 1);
    r.k("line", cuMemcpy2D(&in));
    in = to_array(line, counted(), 8, 2);
    r.k("line_of_two_rows", cuMemcpy2D(&in));
    in = to_array(a, counted(), 16, 4);
    r.k("unaligned_form", cuMemcpy2DUnaligned(&in));
  });
  add("array.box3d", [](Rec& r) {
    Array a(solid(8, 4, 2));
    unsigned char* out = cleared();
    CUDA_MEMCPY3D in = to_array(a, counted(), 8, 4, 2), back = from_array(out, a, 8, 4, 2);
    r.k("to", cuMemcpy3D(&in));
    r.k("from", cuMemcpy3D(&back));
    r.k("last", at(out, 63));
    back.srcXInBytes = 2;
    back.srcY = 1;
    back.srcZ = 1;
    back.WidthInBytes = 4;
    back.Height = 2;
    back.Depth = 1;
    r.k("part", cuMemcpy3D(&back));
    r.k("part_first", at(out, 0));
    back.srcLOD = 1;
    r.k("lod1", cuMemcpy3D(&back));
    back.srcLOD = 0;
    back.Depth = 2;
    r.k("too_deep", cuMemcpy3D(&back));
    back.Depth = 1;
    back.srcZ = 2;
    r.k("z_beyond", cuMemcpy3D(&back));
    in.WidthInBytes = 9;
    in.srcPitch = 9;
    r.k("too_wide", cuMemcpy3D(&in));
    back = from_array(out, a, 8, 4, 2);
    Stream s(NB);
    r.k("async", cuMemcpy3DAsync(&back, s));
    OK(cuStreamSynchronize(s));
  });
  add("array.box3d_of_less", [](Rec& r) {
    Array plane(flat(8, 4)), line(flat(8));
    CUDA_MEMCPY3D in = to_array(plane, counted(), 8, 4, 1);
    r.k("plane", cuMemcpy3D(&in));
    in = to_array(plane, counted(), 8, 4, 2);
    r.k("plane_twice", cuMemcpy3D(&in));
    in = to_array(line, counted(), 8, 1, 1);
    r.k("line", cuMemcpy3D(&in));
    Array box(solid(8, 4, 2));
    CUDA_MEMCPY2D flat_in = to_array(box, counted(), 8, 4);
    r.k("box2d_into_box", cuMemcpy2D(&flat_in));
    r.k("linear_into_box", cuMemcpyHtoA(box, 0, counted(), 64));
  });
  add("array.layers", [](Rec& r) {
    Array planes(solid(8, 4, 3, CUDA_ARRAY3D_LAYERED)), lines(solid(8, 0, 3, CUDA_ARRAY3D_LAYERED));
    unsigned char* out = cleared();
    CUDA_MEMCPY3D in = to_array(planes, counted(), 8, 4, 3),
                  back = from_array(out, planes, 8, 4, 1);
    r.k("planes", cuMemcpy3D(&in));
    back.srcZ = 2;
    r.k("third", cuMemcpy3D(&back));
    r.k("third_first", at(out, 0));
    in = to_array(lines, counted(), 8, 1, 3);
    r.k("lines", cuMemcpy3D(&in));
    back = from_array(out, lines, 8, 1, 1);
    back.srcZ = 1;
    r.k("second", cuMemcpy3D(&back));
    r.k("second_first", at(out, 0));
  });
  add("array.graph_node", [](Rec& r) {
    Array a(flat(64));
    Stream s(NB);
    unsigned char* out = cleared();
    CUDA_MEMCPY3D in = to_array(a, counted(70), 64, 1, 1), back = from_array(out, a, 64, 1, 1);
    Graph graph;
    CUgraphNode first = nullptr, second = nullptr, bad = nullptr;
    r.k("to", cuGraphAddMemcpyNode(&first, graph, nullptr, 0, &in, g.ctx));
    r.k("from", cuGraphAddMemcpyNode(&second, graph, &first, 1, &back, g.ctx));
    in.WidthInBytes = 65;
    r.k("too_wide", cuGraphAddMemcpyNode(&bad, graph, nullptr, 0, &in, g.ctx));
    in.WidthInBytes = 64;
    in.dstArray = nullptr;
    r.k("null_array", cuGraphAddMemcpyNode(&bad, graph, nullptr, 0, &in, g.ctx));
    Exec exec(graph);
    OK(cuGraphLaunch(exec, s));
    OK(cuStreamSynchronize(s));
    r.k("value", at(out, 0));
  });
}

}  // namespace weir::conformance
