// SPDX-License-Identifier: Apache-2.0
// cases/kernel/module_library.cpp - libraries and their kernels.
#include "cases/kernel/modules.hpp"

#include <cstring>

namespace weir::conformance {

namespace {

CUresult load(CUlibrary* out, const void* code) {
  return cuLibraryLoadData(out, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

}  // namespace

void module_library_cases() {
  add("kernel.library", [](Rec& r) {
    CUlibrary l = nullptr, in = nullptr;
    CUkernel k = nullptr, all[8]{};
    CUfunction f = nullptr, again = nullptr, of_module = nullptr;
    CUmodule m = nullptr, of_function = nullptr;
    unsigned count = 0;
    const char* name = nullptr;
    r.k("load", load(&l, asked_module()));
    r.k("count", cuLibraryGetKernelCount(&count, l));
    r.k("count.is", count);
    r.k("list", cuLibraryEnumerateKernels(all, 8, l));
    r.k("kernel", cuLibraryGetKernel(&k, l, "empty"));
    r.k("no_kernel", cuLibraryGetKernel(&all[0], l, "nothing"));
    r.k("name", cuKernelGetName(&name, k));
    r.k("name.is", std::string(name != nullptr ? name : "null"));
    r.k("library", cuKernelGetLibrary(&in, k));
    r.k("library.same", in == l);
    r.k("function", cuKernelGetFunction(&f, k));
    r.k("function_again", cuKernelGetFunction(&again, k));
    r.k("function_again.same", again == f);
    r.k("module", cuLibraryGetModule(&m, l));
    r.k("module_function", cuModuleGetFunction(&of_module, m, "empty"));
    r.k("module_function.same", of_module == f);
    r.k("function_module", cuFuncGetModule(&of_function, f));
    r.k("function_module.same", of_function == m);
    r.k("unload_module", cuModuleUnload(m));
    r.k("unload", cuLibraryUnload(l));
  });
  add("kernel.library_arguments", [](Rec& r) {
    CUlibrary l = nullptr;
    CUkernel k = nullptr;
    CUfunction f = nullptr;
    CUmodule m = nullptr;
    CUdeviceptr d = 0;
    size_t n = 0, offset = 0;
    unsigned count = 0;
    int value = 0;
    void* p = nullptr;
    const char* name = nullptr;
    r.k("load_to_null", load(nullptr, asked_module()));
    r.k("load_null", load(&l, nullptr));
    r.k("load_junk", load(&l, "this is not a module"));
    r.k("load_bad_ptx",
        load(&l,
             ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry x() { bogus; }\n"));
    CUlibraryOption unknown = static_cast<CUlibraryOption>(7);
    void* nothing = nullptr;
    r.k("unknown_option",
        cuLibraryLoadData(&l, asked_module(), nullptr, nullptr, 0, &unknown, &nothing, 1));
    CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
    r.k("preserved",
        cuLibraryLoadData(&l, asked_module(), nullptr, nullptr, 0, &preserved, nullptr, 1));
    if (l != nullptr) r.k("preserved.unload", cuLibraryUnload(l));
    r.k("no_file", cuLibraryLoadFromFile(&l, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(load(&l, asked_module()));
    OK(cuLibraryGetKernel(&k, l, "store"));
    r.k("kernel_to_null", cuLibraryGetKernel(nullptr, l, "store"));
    r.k("kernel_no_name", cuLibraryGetKernel(&k, l, nullptr));
    r.k("kernel_of_null", cuLibraryGetKernel(&k, nullptr, "store"));
    r.k("count_of_null", cuLibraryGetKernelCount(&count, nullptr));
    r.k("count_to_null", cuLibraryGetKernelCount(nullptr, l));
    r.k("list_to_null", cuLibraryEnumerateKernels(nullptr, 1, l));
    r.k("module_of_null", cuLibraryGetModule(&m, nullptr));
    r.k("module_to_null", cuLibraryGetModule(nullptr, l));
    r.k("function_of_null", cuKernelGetFunction(&f, nullptr));
    r.k("function_to_null", cuKernelGetFunction(nullptr, k));
    r.k("name_of_null", cuKernelGetName(&name, nullptr));
    r.k("name_to_null", cuKernelGetName(nullptr, k));
    r.k("library_of_null", cuKernelGetLibrary(&l, nullptr));
    r.k("library_to_null", cuKernelGetLibrary(nullptr, k));
    r.k("param", cuKernelGetParamInfo(k, 1, &offset, &n));
    r.k("param.offset", offset);
    r.k("param.size", n);
    r.k("param_2", cuKernelGetParamInfo(k, 2, &offset, &n));
    r.k("param_no_offset", cuKernelGetParamInfo(k, 0, nullptr, &n));
    r.k("param_of_null", cuKernelGetParamInfo(nullptr, 0, &offset, &n));
    r.k("global", cuLibraryGetGlobal(&d, &n, l, "word"));
    r.k("global.bytes", n);
    r.k("global_to_null", cuLibraryGetGlobal(nullptr, nullptr, l, "word"));
    r.k("global_unknown", cuLibraryGetGlobal(&d, &n, l, "nothing"));
    r.k("global_of_managed", cuLibraryGetGlobal(&d, &n, l, "both"));
    r.k("global_of_constant", cuLibraryGetGlobal(&d, &n, l, "fixed"));
    r.k("managed", cuLibraryGetManaged(&d, &n, l, "both"));
    r.k("managed.bytes", n);
    r.k("managed_to_null", cuLibraryGetManaged(nullptr, nullptr, l, "both"));
    r.k("managed_of_global", cuLibraryGetManaged(&d, &n, l, "word"));
    r.k("unified", cuLibraryGetUnifiedFunction(&p, l, "empty"));
    r.k("attribute_to_null", cuKernelGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, k, g.dev));
    r.k("attribute_of_null",
        cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr, g.dev));
    r.k("attribute_no_device", cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 99));
    r.k("attribute_unknown",
        cuKernelGetAttribute(&value, static_cast<CUfunction_attribute>(99), k, g.dev));
    r.k("set_read_only", cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, k, g.dev));
    r.k("set_no_device",
        cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, k, 99));
    r.k("cache", cuKernelSetCacheConfig(k, CU_FUNC_CACHE_PREFER_L1, g.dev));
    r.k("cache_unknown", cuKernelSetCacheConfig(k, static_cast<CUfunc_cache>(4), g.dev));
    r.k("unload_null", cuLibraryUnload(nullptr));
    r.k("unload", cuLibraryUnload(l));
  });
  // Settings of a kernel, and of its function before and after.
  add("kernel.library_settings", [](Rec& r) {
    constexpr auto shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CUlibrary l = nullptr;
    CUkernel k = nullptr;
    CUfunction f = nullptr;
    OK(load(&l, asked_module()));
    OK(cuLibraryGetKernel(&k, l, "empty"));
    OK(cuKernelGetFunction(&f, k));
    const auto told = [&](const char* key) {
      int of_function = -7, of_kernel = -7;
      OK(cuFuncGetAttribute(&of_function, shared, f));
      OK(cuKernelGetAttribute(&of_kernel, shared, k, g.dev));
      r.k(std::string(key) + ".function", of_function);
      r.k(std::string(key) + ".kernel", of_kernel);
    };
    told("at_first");
    OK(cuKernelSetAttribute(shared, 100, k, g.dev));
    told("kernel_100");
    OK(cuFuncSetAttribute(f, shared, 200));
    told("function_200");
    OK(cuKernelSetAttribute(shared, 300, k, g.dev));
    told("kernel_300");
    int value = -7;
    r.k("kernel_as_function", cuFuncGetAttribute(&value, shared, reinterpret_cast<CUfunction>(k)));
    r.k("kernel_as_function.is", value);
    r.k("occupancy_of_kernel", cuOccupancyMaxActiveBlocksPerMultiprocessor(
                                   &value, reinterpret_cast<CUfunction>(k), 64, 0));
    OK(cuLibraryUnload(l));
  });
  add("kernel.library_without_context", ISO, [](Rec& r) {
    CUcontext popped = nullptr;
    OK(cuCtxPopCurrent(&popped));
    CUlibrary l = nullptr;
    CUkernel k = nullptr;
    CUfunction f = nullptr;
    CUmodule m = nullptr;
    CUdeviceptr d = 0;
    size_t n = 0;
    int value = 0;
    r.k("load", load(&l, asked_module()));
    r.k("kernel", cuLibraryGetKernel(&k, l, "empty"));
    r.k("attribute",
        cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, g.dev));
    r.k("param", cuKernelGetParamInfo(k, 0, &n, nullptr));
    r.k("function", cuKernelGetFunction(&f, k));
    r.k("module", cuLibraryGetModule(&m, l));
    r.k("global", cuLibraryGetGlobal(&d, &n, l, "word"));
    r.k("managed", cuLibraryGetManaged(&d, &n, l, "both"));
    r.k("kernel_as_function",
        cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, reinterpret_cast<CUfunction>(k)));
    r.k("unload", cuLibraryUnload(l));
  });
  for (const auto mode : {GLOBAL, LOCAL, RELAXED}) {
    const char* name = mode == GLOBAL ? "global" : mode == LOCAL ? "thread_local" : "relaxed";
    add(std::string("kernel.library_in_capture.") + name, [mode](Rec& r) {
      Stream s(NB);
      CUlibrary l = nullptr;
      CUkernel k = nullptr;
      CUfunction f = nullptr;
      CUdeviceptr d = 0;
      OK(cuStreamBeginCapture(s, mode));
      r.k("load", load(&l, asked_module()));
      r.k("kernel", cuLibraryGetKernel(&k, l, "empty"));
      r.k("function", cuKernelGetFunction(&f, k));
      r.k("global", cuLibraryGetGlobal(&d, nullptr, l, "word"));
      r.k("set_attribute",
          cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
      CUstreamCaptureStatus status{};
      OK(cuStreamIsCapturing(s, &status));
      r.k("status", status);
      r.k("unload", cuLibraryUnload(l));
      OK(cuStreamIsCapturing(s, &status));
      r.k("status2", status);
      CUgraph gr = nullptr;
      r.k("end", cuStreamEndCapture(s, &gr));
    });
  }
  add("kernel.library_unloaded", ISO, [](Rec& r) {
    CUlibrary l = nullptr;
    CUkernel k = nullptr;
    CUfunction f = nullptr;
    OK(load(&l, asked_module()));
    OK(cuLibraryGetKernel(&k, l, "empty"));
    OK(cuLibraryUnload(l));
    r.k("function", cuKernelGetFunction(&f, k));
    r.k("kernel", cuLibraryGetKernel(&k, l, "empty"));
    r.k("unload", cuLibraryUnload(l));
  });
}

}  // namespace weir::conformance
