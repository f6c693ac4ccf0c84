// SPDX-License-Identifier: Apache-2.0
// probe/driver.cpp - the driver under test, loaded at run time, with each function under its own
// name.
#include "probe/driver.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace weir::conformance {
namespace {

void* g_library = nullptr;

// Returns the exported symbol if there is one, else what cuGetProcAddress finds under the plain
// name.
void* find(const char* symbol, const char* name) {
  if (void* p = exported(symbol)) return p;
  using Lookup =
      CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  static const Lookup lookup = reinterpret_cast<Lookup>(exported("cuGetProcAddress_v2"));
  void* p = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (!lookup ||
      lookup(name, &p, kCudaVersion, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found) != CUDA_SUCCESS)
    return nullptr;
  return p;
}

}  // namespace

#define PROBE_FUNCTION(name, symbol, ...) Fn<CUresult(__VA_ARGS__)> name;
#include "probe/functions.def"
#undef PROBE_FUNCTION

std::string library_name() {
  const char* name = getenv("WEIR_LIBCUDA");
  return name && *name ? name : "libcuda.so.1";
}

bool load_library(std::string* why) {
  if (g_library) return true;
  g_library = dlopen(library_name().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!g_library) {
    const char* reason = dlerror();
    if (why) *why = reason ? reason : "?";
    return false;
  }
#define PROBE_FUNCTION(name, symbol, ...) \
  name.p = reinterpret_cast<decltype(name.p)>(find(#symbol, #name));
#include "probe/functions.def"
#undef PROBE_FUNCTION
  return true;
}

void* exported(const char* symbol) { return dlsym(g_library, symbol); }

}  // namespace weir::conformance
