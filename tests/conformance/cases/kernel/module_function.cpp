// SPDX-License-Identifier: Apache-2.0
// cases/kernel/module_function.cpp - attributes of functions, and how many blocks fit.
#include "cases/kernel/modules.hpp"

namespace weir::conformance {

namespace {

constexpr int kib = 1024;

void rec_function_set(Rec& r, const std::string& key, CUfunction f, CUfunction_attribute which,
                      int value) {
  r.k(key, cuFuncSetAttribute(f, which, value));
  int now = -7;
  OK(cuFuncGetAttribute(&now, which, f));
  r.k(key + ".is", now);
}

}  // namespace

void module_function_cases() {
  add("kernel.function_attributes", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    for (const char* name : {"empty", "bounded", "clustered"}) {
      OK(cuModuleGetFunction(&f, m, name));
      rec_attributes(r, name, f);
    }
    OK(cuModuleUnload(m));
  });
  add("kernel.function_settings", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr, c = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetFunction(&f, m, "bounded"));  // 1024 bytes static
    OK(cuModuleGetFunction(&c, m, "clustered"));
    constexpr auto shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    rec_function_set(r, "shared_226k", f, shared, 226 * kib);
    rec_function_set(r, "shared_too_much", f, shared, 226 * kib + 1);
    rec_function_set(r, "shared_negative", f, shared, -1);
    rec_function_set(r, "shared_0", f, shared, 0);
    constexpr auto carveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    rec_function_set(r, "carveout_50", f, carveout, 50);
    rec_function_set(r, "carveout_101", f, carveout, 101);
    rec_function_set(r, "carveout_minus_2", f, carveout, -2);
    rec_function_set(r, "carveout_default", f, carveout, -1);
    rec_function_set(r, "width_4", f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4);
    rec_function_set(r, "width_negative", f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1);
    rec_function_set(r, "width_1000", f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1000);
    rec_function_set(r, "width_compiled", c, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4);
    rec_function_set(r, "non_portable", f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    rec_function_set(r, "non_portable_2", f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                     2);
    rec_function_set(r, "policy_2", f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 2);
    rec_function_set(r, "policy_3", f, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3);
    rec_function_set(r, "must_be_set", f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1);
    rec_function_set(r, "threads", f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64);
    r.k("unknown", cuFuncSetAttribute(f, static_cast<CUfunction_attribute>(99), 1));
    r.k("cache_4", cuFuncSetCacheConfig(f, static_cast<CUfunc_cache>(4)));
    r.k("cache", cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1));
    r.k("banks_3", cuFuncSetSharedMemConfig(f, static_cast<CUsharedconfig>(3)));
    r.k("banks", cuFuncSetSharedMemConfig(f, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
    OK(cuModuleUnload(m));
  });
  add("kernel.function_arguments", [](Rec& r) {
    CUfunction f = kern().store;
    int value = 0;
    size_t offset = 0, size = 0;
    const char* name = nullptr;
    CUmodule m = nullptr;
    CUfunctionLoadingState state{};
    r.k("attribute_of_null", cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr));
    r.k("attribute_to_null", cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    r.k("attribute_unknown", cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(99), f));
    r.k("set_of_null",
        cuFuncSetAttribute(nullptr, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 1));
    r.k("name_of_null", cuFuncGetName(&name, nullptr));
    r.k("name_to_null", cuFuncGetName(nullptr, f));
    r.k("module_of_null", cuFuncGetModule(&m, nullptr));
    r.k("module_to_null", cuFuncGetModule(nullptr, f));
    r.k("param_of_null", cuFuncGetParamInfo(nullptr, 0, &offset, &size));
    r.k("param", cuFuncGetParamInfo(f, 1, &offset, &size));
    r.k("param.offset", offset);
    r.k("param.size", size);
    r.k("param_2", cuFuncGetParamInfo(f, 2, &offset, &size));
    r.k("param_no_offset", cuFuncGetParamInfo(f, 0, nullptr, &size));
    r.k("param_no_size", cuFuncGetParamInfo(f, 0, &offset, nullptr));
    r.k("loaded_of_null", cuFuncIsLoaded(&state, nullptr));
    r.k("loaded_to_null", cuFuncIsLoaded(nullptr, f));
    r.k("load_null", cuFuncLoad(nullptr));
    r.k("cache_of_null", cuFuncSetCacheConfig(nullptr, CU_FUNC_CACHE_PREFER_L1));
    r.k("banks_of_null",
        cuFuncSetSharedMemConfig(nullptr, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  });
  // These kernels use hardly any registers, so warps, blocks and shared memory limit the occupancy.
  add("kernel.occupancy", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr, b = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetFunction(&f, m, "empty"));
    OK(cuModuleGetFunction(&b, m, "bounded"));
    const auto blocks = [&](const std::string& key, CUfunction of, int threads, size_t shared) {
      int count = -7;
      r.k(key, cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, of, threads, shared));
      r.k(key + ".is", count);
    };
    blocks("t1024", f, 1024, 0);
    blocks("t1000", f, 1000, 0);
    blocks("t65", f, 65, 0);
    blocks("t1", f, 1, 0);
    blocks("t0", f, 0, 0);
    blocks("t1025", f, 1025, 0);
    blocks("t_negative", f, -1, 0);
    blocks("bounded_256", b, 256, 0);
    blocks("bounded_257", b, 257, 0);
    blocks("s6k", f, 64, 6 * kib);
    blocks("s7k", f, 64, 7 * kib);
    blocks("s7k1", f, 64, 7 * kib + 1);
    blocks("s48k", f, 64, 48 * kib);
    blocks("s48k1", f, 64, 48 * kib + 1);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * kib));
    blocks("opted_48k1", f, 64, 48 * kib + 1);
    blocks("opted_113k", f, 64, 113 * kib);
    blocks("opted_113k1", f, 64, 113 * kib + 1);
    blocks("opted_227k", f, 64, 227 * kib);
    blocks("opted_227k1", f, 64, 227 * kib + 1);
    for (const int percent : {0, 10, 50, 100}) {
      OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent));
      blocks("carveout_" + std::to_string(percent), f, 64, 10 * kib);
    }
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1));
    OK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_EQUAL));
    blocks("prefer_equal", f, 64, 10 * kib);
    OK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1));
    blocks("prefer_l1", f, 64, 10 * kib);
    blocks("of_null", nullptr, 64, 0);
    int count = 0;
    r.k("to_null", cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, b, 64, 0));
    r.k("flags_1", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, b, 64, 0, 1));
    r.k("flags_2", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, b, 64, 0, 2));
    OK(cuModuleUnload(m));
  });
  add("kernel.occupancy_block", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr, b = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetFunction(&f, m, "empty"));
    OK(cuModuleGetFunction(&b, m, "bounded"));
    const auto choose = [&](const std::string& key, CUfunction of, CUoccupancyB2DSize shared_of,
                            size_t shared, int limit) {
      int grid = -7, block = -7;
      r.k(key, cuOccupancyMaxPotentialBlockSize(&grid, &block, of, shared_of, shared, limit));
      r.k(key + ".grid", grid);
      r.k(key + ".block", block);
    };
    choose("any", f, nullptr, 0, 0);
    choose("limit_300", f, nullptr, 0, 300);
    choose("limit_2000", f, nullptr, 0, 2000);
    choose("limit_negative", f, nullptr, 0, -1);
    choose("bounded", b, nullptr, 0, 0);
    choose("shared_20k", f, nullptr, 20 * kib, 0);
    choose("shared_100k", f, nullptr, 100 * kib, 0);
    choose(
        "shared_of", f, [](int threads) { return static_cast<size_t>(threads) * 200; }, 0, 0);
    const auto available = [&](const std::string& key, CUfunction of, int blocks, int threads) {
      size_t shared = 7;
      r.k(key, cuOccupancyAvailableDynamicSMemPerBlock(&shared, of, blocks, threads));
      r.k(key + ".is", shared);
    };
    available("one", f, 1, 64);
    available("eight", f, 8, 64);
    available("bounded_eight", b, 8, 256);
    available("three_of_1024", f, 3, 1024);
    available("none", f, 0, 64);
    available("no_threads", f, 1, 0);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * kib));
    available("opted_one", f, 1, 64);
    available("opted_two", f, 2, 64);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    available("carveout_two", f, 2, 64);
    available("carveout_one", f, 1, 64);
    OK(cuModuleUnload(m));
  });
  add("kernel.occupancy_clusters", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr, c = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetFunction(&f, m, "empty"));
    OK(cuModuleGetFunction(&c, m, "clustered"));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 * kib));
    CUlaunchAttribute cluster{};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    CUlaunchConfig config{};
    config.gridDimX = 240;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &cluster;
    config.numAttrs = 1;
    const auto clusters = [&](const std::string& key, CUfunction of, unsigned blocks,
                              unsigned threads, unsigned shared) {
      cluster.value.clusterDim = {blocks, 1, 1};
      config.blockDimX = threads;
      config.sharedMemBytes = shared;
      int count = -7;
      r.k(key, cuOccupancyMaxActiveClusters(&count, of, &config));
      r.k(key + ".is", count);
    };
    for (const unsigned blocks : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
      clusters("alone_" + std::to_string(blocks), f, blocks, 1024, 200 * kib);
      clusters("pairs_" + std::to_string(blocks), f, blocks, 1024, 0);
    }
    clusters("small", f, 4, 64, 0);
    clusters("sixteen", f, 16, 1024, 200 * kib);
    clusters("none", f, 0, 1024, 0);
    clusters("too_many_threads", f, 2, 2048, 0);
    clusters("required_2", c, 2, 1024, 0);
    clusters("required_differs", c, 4, 1024, 0);
    config.numAttrs = 0;
    clusters("required_unsaid", c, 2, 1024, 0);
    clusters("unsaid", f, 2, 1024, 0);
    int size = -7;
    r.k("size", cuOccupancyMaxPotentialClusterSize(&size, f, &config));
    r.k("size.is", size);
    r.k("size_required", cuOccupancyMaxPotentialClusterSize(&size, c, &config));
    r.k("size_required.is", size);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    r.k("size_any", cuOccupancyMaxPotentialClusterSize(&size, f, &config));
    r.k("size_any.is", size);
    config.numAttrs = 1;
    clusters("any_16", f, 16, 1024, 200 * kib);
    clusters("any_12", f, 12, 1024, 200 * kib);
    clusters("any_17", f, 17, 1024, 200 * kib);
    config.gridDimX = 1;
    clusters("grid_is_no_multiple", f, 4, 1024, 200 * kib);
    r.k("no_config", cuOccupancyMaxActiveClusters(&size, f, nullptr));
    r.k("to_null", cuOccupancyMaxActiveClusters(nullptr, f, &config));
    OK(cuModuleUnload(m));
  });
}

}  // namespace weir::conformance
