// SPDX-License-Identifier: Apache-2.0
// cases/kernel/module_unsaid.cpp - unusual uses of modules and libraries: invalid images that are
// used, kernels used as functions, and destruction after a fault.
#include "cases/kernel/modules.hpp"

#include <cstring>

namespace weir::conformance {

namespace {

constexpr const char* kBadPtx =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry x() { bogus; }\n";

// Makes every call that needs the library's code.
void rec_use(Rec& r, const std::string& key, CUlibrary l) {
  unsigned count = 7;
  CUkernel k = nullptr, all[2]{};
  CUmodule m = nullptr;
  CUdeviceptr d = 0;
  size_t n = 0;
  r.k(key + ".count", cuLibraryGetKernelCount(&count, l));
  r.k(key + ".kernel", cuLibraryGetKernel(&k, l, "empty"));
  r.k(key + ".list", cuLibraryEnumerateKernels(all, 2, l));
  r.k(key + ".module", cuLibraryGetModule(&m, l));
  r.k(key + ".global", cuLibraryGetGlobal(&d, &n, l, "word"));
  r.k(key + ".managed", cuLibraryGetManaged(&d, &n, l, "both"));
  r.k(key + ".unload", cuLibraryUnload(l));
}

}  // namespace

void module_unsaid_cases() {
  add("kernel.library_junk_used", ISO, [](Rec& r) {
    CUlibrary l = nullptr;
    OK(cuLibraryLoadData(&l, "this is not a module", nullptr, nullptr, 0, nullptr, nullptr, 0));
    rec_use(r, "junk", l);
  });
  add("kernel.library_bad_ptx_used", ISO, [](Rec& r) {
    char errors[512];
    memset(errors, 'x', sizeof errors);
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {errors, reinterpret_cast<void*>(size_t{512})};
    CUlibrary l = nullptr;
    OK(cuLibraryLoadData(&l, kBadPtx, options, values, 2, nullptr, nullptr, 0));
    r.k("log_written_by_load", errors[0] != 'x');
    rec_use(r, "bad_ptx", l);
    r.k("log_written_by_use", errors[0] != 'x');
  });
  add("kernel.library_files", ISO, [](Rec& r) {
    CUlibrary l = nullptr;
    const auto file = [&](const char* key, const char* path) {
      l = nullptr;
      r.k(key, cuLibraryLoadFromFile(&l, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
      if (l != nullptr) r.k(std::string(key) + ".unload", cuLibraryUnload(l));
    };
    file("folder", "/");
    file("empty_name", "");
    file("empty", "/dev/null");
  });
  // Passes a library's kernel where a function is required.
  add("kernel.kernel_as_function", ISO, [](Rec& r) {
    CUlibrary l = nullptr;
    CUkernel k = nullptr;
    OK(cuLibraryLoadData(&l, asked_module(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cuLibraryGetKernel(&k, l, "store"));
    const auto f = reinterpret_cast<CUfunction>(k);
    const char* name = nullptr;
    CUmodule m = nullptr;
    size_t offset = 0, size = 0;
    CUfunctionLoadingState state{};
    int grid = 0, block = 0;
    r.k("name", cuFuncGetName(&name, f));
    r.k("module", cuFuncGetModule(&m, f));
    r.k("set", cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    r.k("param", cuFuncGetParamInfo(f, 0, &offset, &size));
    r.k("is_loaded", cuFuncIsLoaded(&state, f));
    r.k("load", cuFuncLoad(f));
    r.k("cache", cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1));
    r.k("block_size", cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0));
    OK(cuLibraryUnload(l));
  });
  add("kernel.variable_mapping", ISO, [](Rec& r) {
    CUmodule m = nullptr;
    CUdeviceptr at = 0, base = 0;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetGlobal(&at, nullptr, m, "word"));
    r.k("base", cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at));
    r.k("base.same", base == at);
    r.k("base.whole", base % (2u << 20) == 0);
    OK(cuModuleUnload(m));
  });
  // Calls that destroy objects, after a fault.
  add("kernel.fault_ends", ISO, [](Rec& r) {
    CUstream s = nullptr;
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    CUlibrary l = nullptr;
    CUdeviceptr in_order = 0, managed = 0;
    void* pinned = nullptr;
    CUgraph gr = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuLibraryLoadData(&l, asked_module(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cuStreamCreate(&s, NB));
    OK(cuMemAllocAsync(&in_order, 64, s));
    OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc(&pinned, 64, 0));
    OK(cuGraphCreate(&gr, 0));
    OK(k_plain(kern().fault, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("free_nothing", cuMemFree(0));
    r.k("free_junk", cuMemFree(12345));
    r.k("free_async", cuMemFreeAsync(in_order, s));
    r.k("free_in_order", cuMemFree(in_order));
    r.k("free_managed", cuMemFree(managed));
    r.k("free_host", cuMemFreeHost(pinned));
    r.k("function", cuModuleGetFunction(&f, m, "empty"));
    r.k("unload", cuModuleUnload(m));
    r.k("unload_library", cuLibraryUnload(l));
    r.k("graph_destroy", cuGraphDestroy(gr));
    r.k("event_destroy_null", cuEventDestroy(nullptr));
    r.k("stream_destroy_null", cuStreamDestroy(nullptr));
  });
}

}  // namespace weir::conformance
