// SPDX-License-Identifier: Apache-2.0
// cases/kernel/module_load.cpp - modules: load errors, queries, and the context they are queried
// in.
#include "cases/kernel/modules.hpp"

#include <cstring>

namespace weir::conformance {

namespace {

// Records what calls on a module return after end(it) has destroyed it.
template <class End>
void rec_gone(Rec& r, End end) {
  CUmodule m = nullptr;
  CUfunction f = nullptr;
  CUdeviceptr d = 0;
  OK(cuModuleLoadData(&m, asked_module()));
  OK(cuModuleGetFunction(&f, m, "empty"));
  OK(cuModuleGetGlobal(&d, nullptr, m, "word"));
  end(m);
  unsigned type = 0;
  r.k("pointer", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
  r.k("get_function", cuModuleGetFunction(&f, m, "empty"));
  r.k("unload", cuModuleUnload(m));
}

}  // namespace

void module_load_cases() {
  add("kernel.module_arguments", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    CUdeviceptr d = 0;
    size_t n = 0;
    unsigned count = 0;
    r.k("load_to_null", cuModuleLoadData(nullptr, asked_module()));
    r.k("load_null", cuModuleLoadData(&m, nullptr));
    r.k("file_to_null", cuModuleLoad(nullptr, "/nowhere"));
    r.k("file_null", cuModuleLoad(&m, nullptr));
    r.k("file_none", cuModuleLoad(&m, "/nowhere"));
    r.k("file_folder", cuModuleLoad(&m, "/"));
    r.k("file_empty_name", cuModuleLoad(&m, ""));
    r.k("file_empty", cuModuleLoad(&m, "/dev/null"));
    r.k("fat_null", cuModuleLoadFatBinary(&m, nullptr));
    r.k("fat_of_ptx", cuModuleLoadFatBinary(&m, asked_module()));
    if (m != nullptr) r.k("fat_of_ptx.unload", cuModuleUnload(m));
    OK(cuModuleLoadData(&m, asked_module()));
    r.k("function_to_null", cuModuleGetFunction(nullptr, m, "empty"));
    r.k("function_no_name", cuModuleGetFunction(&f, m, nullptr));
    r.k("function_empty_name", cuModuleGetFunction(&f, m, ""));
    r.k("function_of_null", cuModuleGetFunction(&f, nullptr, "empty"));
    r.k("function_of_null_no_name", cuModuleGetFunction(&f, nullptr, nullptr));
    r.k("function_that_is_a_variable", cuModuleGetFunction(&f, m, "word"));
    r.k("global_to_null", cuModuleGetGlobal(nullptr, nullptr, m, "word"));
    r.k("global_to_null_unknown", cuModuleGetGlobal(nullptr, nullptr, m, "nothing"));
    r.k("global_address_only", cuModuleGetGlobal(&d, nullptr, m, "word"));
    r.k("global_size_only", cuModuleGetGlobal(nullptr, &n, m, "word"));
    r.k("global_no_name", cuModuleGetGlobal(&d, &n, m, nullptr));
    r.k("global_of_null", cuModuleGetGlobal(&d, &n, nullptr, "word"));
    r.k("global_that_is_a_function", cuModuleGetGlobal(&d, &n, m, "empty"));
    r.k("count_to_null", cuModuleGetFunctionCount(nullptr, m));
    r.k("count_of_null", cuModuleGetFunctionCount(&count, nullptr));
    r.k("list_to_null", cuModuleEnumerateFunctions(nullptr, 1, m));
    r.k("list_none_to_null", cuModuleEnumerateFunctions(nullptr, 0, m));
    r.k("list_none", cuModuleEnumerateFunctions(&f, 0, m));
    r.k("list_of_null", cuModuleEnumerateFunctions(&f, 1, nullptr));
    r.k("mode_to_null", cuModuleGetLoadingMode(nullptr));
    CUmoduleLoadingMode mode{};
    r.k("mode", cuModuleGetLoadingMode(&mode));
    r.k("mode.is", static_cast<unsigned>(mode));
    OK(cuModuleUnload(m));
  });

  add("kernel.module_options", [](Rec& r) {
    char errors[512] = "x", news[512] = "x";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_WALL_TIME};
    const auto load = [&](const char* key, const void* image, size_t room) {
      memset(errors, 'x', sizeof errors);
      memset(news, 'x', sizeof news);
      void* values[] = {errors, reinterpret_cast<void*>(room), news, reinterpret_cast<void*>(room),
                        nullptr};
      CUmodule m = nullptr;
      const std::string k = key;
      r.k(k, cuModuleLoadDataEx(&m, image, 5, options, values));
      const auto used = reinterpret_cast<size_t>(values[1]);
      const size_t length = strnlen(errors, sizeof errors);
      // compares the returned size with the text
      r.k(k + ".errors", std::string(length == sizeof errors ? "unwritten"
                                     : length == 0           ? "empty"
                                     : length == room - 1    ? "full"
                                                             : "text"));
      r.k(k + ".errors.used", std::string(used == room         ? "room"
                                          : used == 0          ? "none"
                                          : used == length     ? "text"
                                          : used == length + 1 ? "text_and_zero"
                                                               : "other"));
      const auto news_used = reinterpret_cast<size_t>(values[3]);
      const size_t news_length = strnlen(news, sizeof news);
      r.k(k + ".news", std::string(news_length == sizeof news ? "unwritten"
                                   : news_length == 0         ? "empty"
                                                              : "text"));
      r.k(k + ".news.used", std::string(news_used == room              ? "room"
                                        : news_used == 0               ? "none"
                                        : news_used == news_length     ? "text"
                                        : news_used == news_length + 1 ? "text_and_zero"
                                                                       : "other"));
      r.k(k + ".timed", values[4] != nullptr);
      if (m != nullptr) OK(cuModuleUnload(m));
    };
    load("good", asked_module(), 512);
    load("bad_ptx",
         ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry x() { bogus; }\n", 512);
    load("bad_ptx_little_room",
         ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry x() { bogus; }\n", 8);
    load("junk", "this is not a module", 512);
    CUmodule m = nullptr;
    CUjit_option unknown = static_cast<CUjit_option>(99);
    void* value = nullptr;
    r.k("unknown", cuModuleLoadDataEx(&m, asked_module(), 1, &unknown, &value));
    r.k("no_options", cuModuleLoadDataEx(&m, asked_module(), 1, nullptr, &value));
    CUjit_option level = CU_JIT_OPTIMIZATION_LEVEL;
    r.k("no_values", cuModuleLoadDataEx(&m, asked_module(), 1, &level, nullptr));
  });

  add("kernel.module_list", [](Rec& r) {
    CUmodule m = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    unsigned count = 0;
    r.k("count", cuModuleGetFunctionCount(&count, m));
    r.k("count.is", count);
    CUfunction all[8]{};
    r.k("list", cuModuleEnumerateFunctions(all, 8, m));
    unsigned listed = 0;
    while (listed < 8 && all[listed] != nullptr) ++listed;
    r.k("listed", listed);
    for (unsigned i = 0; i < listed; ++i) {
      const char* name = nullptr;
      OK(cuFuncGetName(&name, all[i]));
      if (strcmp(name, "empty") != 0) continue;
      CUfunctionLoadingState state{};
      r.k("loaded", cuFuncIsLoaded(&state, all[i]));
      r.k("loaded.is", static_cast<unsigned>(state));
      rec_attributes(r, "listed", all[i]);
      CUfunction same = nullptr;
      OK(cuModuleGetFunction(&same, m, "empty"));
      r.k("same_handle", same == all[i]);
      r.k("loaded_when_asked_for", cuFuncIsLoaded(&state, all[i]));
      r.k("loaded_when_asked_for.is", static_cast<unsigned>(state));
      r.k("load", cuFuncLoad(all[i]));
      r.k("loaded_at_last", cuFuncIsLoaded(&state, all[i]));
      r.k("loaded_at_last.is", static_cast<unsigned>(state));
    }
    OK(cuModuleUnload(m));
  });

  add("kernel.module_without_context", ISO, [](Rec& r) {
    CUmodule m = nullptr, other = nullptr;
    CUfunction f = nullptr;
    OK(cuModuleLoadData(&m, asked_module()));
    OK(cuModuleGetFunction(&f, m, "empty"));
    CUcontext popped = nullptr;
    OK(cuCtxPopCurrent(&popped));
    CUdeviceptr d = 0;
    unsigned count = 0;
    int value = 0;
    CUmoduleLoadingMode mode{};
    r.k("load", cuModuleLoadData(&other, asked_module()));
    r.k("load_to_null", cuModuleLoadData(nullptr, asked_module()));
    r.k("load_junk", cuModuleLoadData(&other, "junk"));
    r.k("function", cuModuleGetFunction(&f, m, "empty"));
    r.k("function_of_null", cuModuleGetFunction(&f, nullptr, "empty"));
    r.k("global", cuModuleGetGlobal(&d, nullptr, m, "word"));
    r.k("count", cuModuleGetFunctionCount(&count, m));
    r.k("list", cuModuleEnumerateFunctions(&f, 1, m));
    r.k("mode", cuModuleGetLoadingMode(&mode));
    r.k("attribute", cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    r.k("set_attribute",
        cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    r.k("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 64, 0));
    r.k("unload_null", cuModuleUnload(nullptr));
    r.k("unload", cuModuleUnload(m));
  });

  add("kernel.module_of_other_context", ISO | SECOND_CONTEXT, [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    CUdeviceptr d = 0;
    OtherCtx o;
    {
      Current cur(o);
      OK(cuModuleLoadData(&m, asked_module()));
    }
    r.k("function", cuModuleGetFunction(&f, m, "empty"));
    r.k("global", cuModuleGetGlobal(&d, nullptr, m, "word"));
    CUcontext of = nullptr;
    r.k("global.context", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, d));
    r.k("global.context.is_its", of == static_cast<CUcontext>(o));
    int value = 0;
    if (f != nullptr) r.k("attribute", cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f));
    if (f != nullptr)
      r.k("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 64, 0));
    r.k("unload", cuModuleUnload(m));
  });

  // These calls use destroyed objects: a driver may do anything.
  add("kernel.module_after_its_context", ISO | SECOND_CONTEXT, [](Rec& r) {
    CUcontext o = nullptr;
    OK(cuCtxCreate(&o, nullptr, 0, g.dev));
    rec_gone(r, [o](CUmodule) { OK(cuCtxDestroy(o)); });
  });
  add("kernel.module_unloaded", ISO,
      [](Rec& r) { rec_gone(r, [](CUmodule m) { OK(cuModuleUnload(m)); }); });
}

}  // namespace weir::conformance
