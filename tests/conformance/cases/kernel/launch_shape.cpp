// SPDX-License-Identifier: Apache-2.0
// cases/kernel/launch_shape.cpp - valid grids, blocks and clusters of a launch, and its arguments.
#include "cases/kernel/launches.hpp"

namespace weir::conformance {

namespace {

// Records the result of the launch, and the context's state afterwards.
void rec_shape(Rec& r, const std::string& key, CUfunction f, const Launch& how,
               void** args = nullptr) {
  r.k(key, how.run(f, args));
  const CUresult after = cuCtxSynchronize();
  if (after != CUDA_SUCCESS) r.k(key + ".sync", after);
}

void rec_extra(Rec& r, const std::string& key, CUfunction f, std::vector<void*> extra) {
  r.k(key, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra.data()));
  OK(cuCtxSynchronize());
}

}  // namespace

void launch_shape_cases() {
  add("kernel.launch_bounds", [](Rec& r) {
    Cell c = new_cell();
    CUdeviceptr d = c.d;
    void* args[] = {&d};
    const CUfunction bounded =
        launched_kernel("bounded");  // 256 threads, 1024 bytes of static shared memory
    rec_shape(r, "threads_256", bounded, {.block = {256, 1, 1}}, args);
    rec_shape(r, "threads_257", bounded, {.block = {257, 1, 1}}, args);
    rec_shape(r, "threads_2_128", bounded, {.block = {2, 128, 1}}, args);
    rec_shape(r, "threads_16_16_2", bounded, {.block = {16, 16, 2}}, args);
    rec_shape(r, "shared_47k", bounded, {.shared = 47 * 1024}, args);
    rec_shape(r, "shared_48k", bounded, {.shared = 48 * 1024}, args);
    OK(cuFuncSetAttribute(bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024));
    rec_shape(r, "shared_100k_allowed", bounded, {.shared = 100 * 1024}, args);
    rec_shape(r, "shared_100k_and_1", bounded, {.shared = 100 * 1024 + 1}, args);
    OK(cuFuncSetAttribute(bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
    rec_shape(r, "shared_1_none_allowed", bounded, {.shared = 1}, args);
    const CUfunction empty = launched_kernel("empty");
    rec_shape(r, "grid_x_more", empty, {.grid = {0x80000000, 1, 1}});
    rec_shape(r, "grid_y_most", empty, {.grid = {1, 65535, 1}});
    rec_shape(r, "grid_y_more", empty, {.grid = {1, 65536, 1}});
    rec_shape(r, "grid_z_more", empty, {.grid = {1, 1, 65536}});
    rec_shape(r, "block_x_1024", empty, {.block = {1024, 1, 1}});
    rec_shape(r, "block_y_1024", empty, {.block = {1, 1024, 1}});
    rec_shape(r, "block_z_64", empty, {.block = {1, 1, 64}});
    rec_shape(r, "block_z_65", empty, {.block = {1, 1, 65}});
    rec_shape(r, "block_32_32_2", empty, {.block = {32, 32, 2}});
  });
  add("kernel.launch_clusters", [](Rec& r) {
    const CUfunction empty = launched_kernel("empty");
    for (const unsigned size : {1u, 2u, 3u, 8u, 9u, 16u, 17u}) {
      rec_shape(r, "of_" + std::to_string(size), empty,
                {.grid = {size * 2, 1, 1}, .attributes = {cluster_of(size)}});
    }
    rec_shape(r, "of_0", empty, {.grid = {4, 1, 1}, .attributes = {cluster_of(0)}});
    rec_shape(r, "of_0_0_0", empty, {.grid = {4, 1, 1}, .attributes = {cluster_of(0, 0, 0)}});
    rec_shape(r, "not_divisible", empty, {.grid = {5, 1, 1}, .attributes = {cluster_of(2)}});
    rec_shape(r, "not_divisible_y", empty, {.grid = {4, 3, 1}, .attributes = {cluster_of(2, 2)}});
    rec_shape(r, "of_2_2_2", empty, {.grid = {2, 2, 2}, .attributes = {cluster_of(2, 2, 2)}});
    rec_shape(r, "twice", empty, {.grid = {6, 1, 1}, .attributes = {cluster_of(2), cluster_of(3)}});
    OK(cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    rec_shape(r, "non_portable_16", empty, {.grid = {32, 1, 1}, .attributes = {cluster_of(16)}});
    rec_shape(r, "non_portable_17", empty, {.grid = {34, 1, 1}, .attributes = {cluster_of(17)}});
    OK(cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0));
    const CUfunction pairs = launched_kernel("clustered");  // compiled for clusters of 2
    rec_shape(r, "compiled", pairs, {.grid = {4, 1, 1}});
    rec_shape(r, "compiled_not_divisible", pairs, {.grid = {5, 1, 1}});
    rec_shape(r, "compiled_same", pairs, {.grid = {4, 1, 1}, .attributes = {cluster_of(2)}});
    rec_shape(r, "compiled_other", pairs, {.grid = {4, 1, 1}, .attributes = {cluster_of(4)}});
    rec_shape(r, "cooperative", empty,
              {.grid = {4, 1, 1}, .attributes = {cluster_of(2), cooperative(1)}});
  });
  add("kernel.launch_cooperative", [](Rec& r) {
    const CUfunction empty = launched_kernel("empty");
    rec_shape(r, "fits", empty, {.grid = {132 * 32, 1, 1}, .attributes = {cooperative(1)}});
    rec_shape(r, "one_too_many", empty,
              {.grid = {132 * 32 + 1, 1, 1}, .attributes = {cooperative(1)}});
    rec_shape(r, "not", empty, {.grid = {132 * 32 + 1, 1, 1}, .attributes = {cooperative(0)}});
    rec_shape(r, "of_2", empty, {.attributes = {cooperative(2)}});
    rec_shape(r, "of_minus_1", empty, {.attributes = {cooperative(-1)}});
    rec_shape(r, "threads_1024_fits", empty,
              {.grid = {264, 1, 1}, .block = {1024, 1, 1}, .attributes = {cooperative(1)}});
    rec_shape(r, "threads_1024_more", empty,
              {.grid = {265, 1, 1}, .block = {1024, 1, 1}, .attributes = {cooperative(1)}});
    r.k("own_call", cuLaunchCooperativeKernel(empty, 264, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
    r.k("own_call_more",
        cuLaunchCooperativeKernel(empty, 265, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
    OK(cuCtxSynchronize());
  });
  add("kernel.launch_arguments", [](Rec& r) {
    const CUfunction store = launched_kernel("store");  // (pointer, unsigned)
    const CUfunction empty = launched_kernel("empty");
    Cell c = new_cell(0);
    struct {
      CUdeviceptr to;
      unsigned value;
      unsigned more;
    } packed{c.d, 7, 9};
    std::size_t bytes = 12;
    const auto buffer = CU_LAUNCH_PARAM_BUFFER_POINTER;
    const auto size = CU_LAUNCH_PARAM_BUFFER_SIZE;
    const auto end = CU_LAUNCH_PARAM_END;
    rec_extra(r, "extra", store, {buffer, &packed, size, &bytes, end});
    r.k("value", c.get());
    packed.value = 8;
    rec_extra(r, "extra_size_first", store, {size, &bytes, buffer, &packed, end});
    r.k("value2", c.get());
    bytes = 16;
    rec_extra(r, "extra_larger", store, {buffer, &packed, size, &bytes, end});
    bytes = 8;
    rec_extra(r, "extra_smaller", store, {buffer, &packed, size, &bytes, end});
    bytes = 0;
    rec_extra(r, "extra_nothing", store, {buffer, &packed, size, &bytes, end});
    rec_extra(r, "extra_no_size", store, {buffer, &packed, end});
    rec_extra(r, "extra_no_buffer", store, {size, &bytes, end});
    rec_extra(r, "extra_empty", store, {end});
    rec_extra(r, "extra_unknown", store, {reinterpret_cast<void*>(9), &packed, end});
    rec_extra(r, "empty_extra_empty", empty, {end});
    bytes = 16;
    rec_extra(r, "empty_extra_too_much", empty, {buffer, &packed, size, &bytes, end});
    void* none[] = {nullptr, nullptr};
    r.k("empty_params", Launch{}.run(empty, none));
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
