// SPDX-License-Identifier: Apache-2.0
// cases/kernel/module_variables.cpp - variables of modules as memory.
#include "cases/kernel/modules.hpp"

namespace weir::conformance {

namespace {

void rec_variable(Rec& r, const std::string& key, CUmodule m, const char* name) {
  CUdeviceptr at = 0;
  size_t bytes = 0;
  r.k(key, cuModuleGetGlobal(&at, &bytes, m, name));
  r.k(key + ".bytes", bytes);
  unsigned word = 0, truth = 9;
  CUcontext context = nullptr;
  CUdeviceptr start = 0;
  size_t size = 0;
  void* host = nullptr;
  r.k(key + ".memory_type", cuPointerGetAttribute(&word, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
  r.k(key + ".memory_type.is", word);
  r.k(key + ".managed", cuPointerGetAttribute(&truth, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
  r.k(key + ".managed.is", truth);
  r.k(key + ".context", cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at));
  r.k(key + ".context.is", std::string(context == g.ctx     ? "current"
                                       : context == nullptr ? "null"
                                                            : "other"));
  r.k(key + ".host", cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
  r.k(key + ".range_start",
      cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at));
  r.k(key + ".range_start.same", start == at);
  r.k(key + ".range_size", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at));
  r.k(key + ".range_size.is", size);
  size = 0;
  r.k(key + ".address_range", cuMemGetAddressRange(&start, &size, at));
  r.k(key + ".address_range.same", start == at);
  r.k(key + ".address_range.is", size);
  r.k(key + ".mapping_size", cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at));
  r.k(key + ".mapping_size.is", size);
  truth = 9;
  r.k(key + ".sync_memops", cuPointerGetAttribute(&truth, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
  r.k(key + ".sync_memops.is", truth);
  truth = 9;
  r.k(key + ".ipc",
      cuPointerGetAttribute(&truth, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
  r.k(key + ".ipc.is", truth);
  r.k(key + ".set", cuMemsetD32(at, 3, 1));
  r.k(key + ".set_past_its_end", cuMemsetD32(at, 3, bytes / 4 + 1));
  r.k(key + ".read", cuMemcpyDtoH(&word, at, 4));
  r.k(key + ".read.is", word);
  r.k(key + ".free", cuMemFree(at));
  r.k(key + ".free_async", cuMemFreeAsync(at, nullptr));
}

}  // namespace

void module_variables_cases() {
  add("kernel.module_variable", ISO, [](Rec& r) {
    CUmodule m = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    rec_variable(r, "global", m, "word");
    OK(cuModuleUnload(m));
  });
  add("kernel.module_constant", ISO, [](Rec& r) {
    CUmodule m = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    rec_variable(r, "constant", m, "fixed");
    OK(cuModuleUnload(m));
  });
  add("kernel.module_managed", ISO, [](Rec& r) {
    CUmodule m = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    rec_variable(r, "managed", m, "both");
    OK(cuModuleUnload(m));
  });
  add("kernel.module_variable_of_each_load", [](Rec& r) {
    CUmodule one = nullptr, other = nullptr;
    OK(cuModuleLoadData(&one, asked_module()));
    OK(cuModuleLoadData(&other, asked_module()));
    CUdeviceptr a = 0, b = 0;
    unsigned value = 0;
    OK(cuModuleGetGlobal(&a, nullptr, one, "word"));
    OK(cuModuleGetGlobal(&b, nullptr, other, "word"));
    r.k("same", a == b);
    OK(cuMemsetD32(a, 3, 1));
    OK(cuMemcpyDtoH(&value, b, 4));
    r.k("other", value);
    OK(cuModuleUnload(one));
    OK(cuModuleUnload(other));
  });
}

}  // namespace weir::conformance
