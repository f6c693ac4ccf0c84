// SPDX-License-Identifier: Apache-2.0
// cases/memory/array_create.cpp - valid arrays, and their properties.
#include "cases/memory/arrays.hpp"

namespace weir::conformance {

void array_create_cases() {
  add("array.create", [](Rec& r) {
    const CUDA_ARRAY_DESCRIPTOR good = flat(64, 4);
    CUarray a = nullptr;
    r.k("null_out", cuArrayCreate(nullptr, &good));
    r.k("null_descriptor", cuArrayCreate(&a, nullptr));
    rec_create(r, "good", good);
    rec_create(r, "width0", flat(0, 4));
    rec_create(r, "height0", flat(64, 0));
    rec_create(r, "height1", flat(64, 1));
    rec_create(r, "both0", flat(0, 0));
  });
  add("array.create_formats", [](Rec& r) {
    for (unsigned f :
         {0u, 1u, 2u, 3u, 4u, 8u, 9u, 10u, 16u, 32u, 80u, 145u, 176u, 192u, 193u, 194u, 999u})
      rec_create(r, "f" + std::to_string(f), flat(64, 4, static_cast<CUarray_format>(f)));
  });
  add("array.create_channels", [](Rec& r) {
    for (unsigned n : {0u, 1u, 2u, 3u, 4u, 5u, 8u})
      rec_create(r, "c" + std::to_string(n), flat(64, 4, CU_AD_FORMAT_FLOAT, n));
  });
  add("array.create_limits", [](Rec& r) {
    int width1 = 0, width2 = 0, height2 = 0;
    OK(cuDeviceGetAttribute(&width1, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, g.dev));
    OK(cuDeviceGetAttribute(&width2, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, g.dev));
    OK(cuDeviceGetAttribute(&height2, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, g.dev));
    const size_t w1 = static_cast<size_t>(width1), w2 = static_cast<size_t>(width2),
                 h2 = static_cast<size_t>(height2);
    rec_create(r, "width1", flat(w1));
    rec_create(r, "width1_beyond", flat(w1 + 1));
    rec_create(r, "width2", flat(w2, 2));
    rec_create(r, "width2_beyond", flat(w2 + 1, 2));
    rec_create(r, "height2", flat(2, h2));
    rec_create(r, "height2_beyond", flat(2, h2 + 1));
    rec_create(r, "most", flat(~size_t{0}, 1));
  });
  add("array.create3d", [](Rec& r) {
    const CUDA_ARRAY3D_DESCRIPTOR good = solid(8, 4, 2);
    CUarray a = nullptr;
    r.k("null_out", cuArray3DCreate(nullptr, &good));
    r.k("null_descriptor", cuArray3DCreate(&a, nullptr));
    rec_create(r, "good", good);
    rec_create(r, "line", solid(8, 0, 0));
    rec_create(r, "plane", solid(8, 4, 0));
    rec_create(r, "no_height", solid(8, 0, 2));
    rec_create(r, "no_width", solid(0, 4, 2));
    rec_create(r, "channels3", solid(8, 4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT8, 3));
    rec_create(r, "deep", solid(2, 2, 16384));
    rec_create(r, "too_deep", solid(2, 2, 16385));
  });
  add("array.create3d_layers", [](Rec& r) {
    constexpr unsigned L = CUDA_ARRAY3D_LAYERED, C = CUDA_ARRAY3D_CUBEMAP;
    rec_create(r, "lines", solid(8, 0, 4, L));
    rec_create(r, "planes", solid(8, 4, 3, L));
    rec_create(r, "no_layers", solid(8, 4, 0, L));
    rec_create(r, "most", solid(8, 4, 2048, L));
    rec_create(r, "too_many", solid(8, 4, 2049, L));
    rec_create(r, "cube", solid(8, 8, 6, C));
    rec_create(r, "cube_not_square", solid(8, 4, 6, C));
    rec_create(r, "cube5", solid(8, 8, 5, C));
    rec_create(r, "cubes", solid(8, 8, 12, L | C));
    rec_create(r, "cubes13", solid(8, 8, 13, L | C));
  });
  add("array.create3d_flags", [](Rec& r) {
    rec_create(r, "surface", solid(8, 4, 2, CUDA_ARRAY3D_SURFACE_LDST));
    rec_create(r, "gather_plane", solid(8, 4, 0, CUDA_ARRAY3D_TEXTURE_GATHER));
    rec_create(r, "gather_solid", solid(8, 4, 2, CUDA_ARRAY3D_TEXTURE_GATHER));
    rec_create(r, "depth_texture", solid(8, 4, 0, CUDA_ARRAY3D_DEPTH_TEXTURE, CU_AD_FORMAT_FLOAT));
    rec_create(r, "color_attachment", solid(8, 4, 0, CUDA_ARRAY3D_COLOR_ATTACHMENT));
    rec_create(r, "video", solid(8, 4, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE));
    rec_create(r, "unknown", solid(8, 4, 0, 0x1000));
    rec_create(r, "all", solid(8, 4, 0, ~0u));
  });
  add("array.descriptors", [](Rec& r) {
    Array line(flat(64)), plane(flat(64, 4, CU_AD_FORMAT_FLOAT, 2));
    Array box(solid(8, 4, 2, CUDA_ARRAY3D_SURFACE_LDST, CU_AD_FORMAT_UNSIGNED_INT16, 4));
    const std::pair<const char*, CUarray> arrays[] = {
        {"line", line}, {"plane", plane}, {"box", box}};
    for (auto& [name, a] : arrays) {
      const std::string k = name;
      CUDA_ARRAY_DESCRIPTOR two{};
      CUDA_ARRAY3D_DESCRIPTOR three{};
      if (r.k(k + ".flat", cuArrayGetDescriptor(&two, a)) == CUDA_SUCCESS) {
        r.k(k + ".flat_width", two.Width);
        r.k(k + ".flat_height", two.Height);
        r.k(k + ".flat_format", static_cast<unsigned>(two.Format));
        r.k(k + ".flat_channels", two.NumChannels);
      }
      if (r.k(k + ".solid", cuArray3DGetDescriptor(&three, a)) == CUDA_SUCCESS) {
        r.k(k + ".width", three.Width);
        r.k(k + ".height", three.Height);
        r.k(k + ".depth", three.Depth);
        r.k(k + ".format", static_cast<unsigned>(three.Format));
        r.k(k + ".channels", three.NumChannels);
        r.k(k + ".flags", three.Flags);
      }
    }
    CUDA_ARRAY_DESCRIPTOR two{};
    r.k("null_out", cuArrayGetDescriptor(nullptr, line));
    r.k("null_out_solid", cuArray3DGetDescriptor(nullptr, line));
    r.k("null_array", cuArrayGetDescriptor(&two, nullptr));
  });
  add("array.destroy_null", [](Rec& r) { r.k("res", cuArrayDestroy(nullptr)); });
  add("array.destroy_twice", ISO, [](Rec& r) {
    Array a(flat(64));
    const CUarray was = a;
    r.k("once", a.destroy());
    CUDA_ARRAY_DESCRIPTOR two{};
    r.k("descriptor", cuArrayGetDescriptor(&two, was));
    r.k("copy", cuMemcpyHtoA(was, 0, g.pin, 4));
    r.k("twice", cuArrayDestroy(was));
  });
  add("array.no_context", [](Rec& r) {
    Array a(flat(64));
    const CUDA_ARRAY_DESCRIPTOR good = flat(64);
    CUDA_ARRAY_DESCRIPTOR two{};
    CUarray made = nullptr;
    on_thread(
        [&] {
          r.k("create", cuArrayCreate(&made, &good));
          r.k("descriptor", cuArrayGetDescriptor(&two, a));
          r.k("copy", cuMemcpyHtoA(a, 0, g.pin, 4));
          r.k("null_descriptor", cuArrayCreate(&made, nullptr));
          r.k("destroy_null", cuArrayDestroy(nullptr));
        },
        false);
  });
}

}  // namespace weir::conformance
