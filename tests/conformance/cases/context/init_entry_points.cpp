// SPDX-License-Identifier: Apache-2.0
// cases/context/init_entry_points.cpp - entry point lookup, error names, the version.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void init_entry_points_cases() {
  add("init.getproc", RAW, [](Rec& r) {
    void* p = reinterpret_cast<void*>(1);
    CUdriverProcAddressQueryResult q = CU_GET_PROC_ADDRESS_SUCCESS;
    r.k("known", cuGetProcAddress("cuStreamQuery", &p, 12000, 0, &q));
    r.k("known.found", p != nullptr);
    r.k("known.status", static_cast<int>(q));
    p = reinterpret_cast<void*>(1);
    r.k("unknown", cuGetProcAddress("cuNoSuchFunction", &p, 12000, 0, &q));
    r.k("unknown.null", p == nullptr);
    r.k("unknown.status", static_cast<int>(q));
    p = reinterpret_cast<void*>(1);
    r.k("too_old", cuGetProcAddress("cuGraphCreate", &p, 9000, 0, &q));
    r.k("too_old.null", p == nullptr);
    r.k("too_old.status", static_cast<int>(q));
    r.k("too_new", cuGetProcAddress("cuStreamQuery", &p, 99000, 0, &q));
    r.k("status_null", cuGetProcAddress("cuStreamQuery", &p, 12000, 0, nullptr));
    r.k("bad_flags", cuGetProcAddress("cuStreamQuery", &p, 12000, 64, &q));
    void *a = nullptr, *b = nullptr, *c = nullptr;
    r.k("legacy",
        cuGetProcAddress("cuStreamQuery", &a, 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &q));
    r.k("ptds", cuGetProcAddress("cuStreamQuery", &b, 12000,
                                 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &q));
    r.k("default", cuGetProcAddress("cuStreamQuery", &c, 12000, 0, &q));
    r.k("legacy_is_default", a == c);
    r.k("legacy_is_ptds", a == b);
    p = reinterpret_cast<void*>(1);
    r.k("empty_symbol", cuGetProcAddress("", &p, 12000, 0, &q));
    r.k("empty_symbol.null", p == nullptr);
    r.k("empty_symbol.status", static_cast<int>(q));
    void *v1 = nullptr, *v2 = nullptr;
    cuGetProcAddress("cuStreamGetCaptureInfo", &v1, 10010, 0, &q);
    cuGetProcAddress("cuStreamGetCaptureInfo", &v2, 13000, 0, &q);
    r.k("versions_differ", v1 != v2 && v1 && v2);
    // under its versioned name, too
    p = reinterpret_cast<void*>(1);
    r.k("versioned_name", cuGetProcAddress("cuStreamGetCaptureInfo_v3", &p, 13000, 0, &q));
    r.k("versioned_name.null", p == nullptr);
    r.k("suffixed_name", cuGetProcAddress("cuStreamQuery_ptsz", &p, 13000, 0, &q));
    r.k("suffixed_name.null", p == nullptr);
    r.k("same_as_exported", [&] {
      void* e = nullptr;
      cuGetProcAddress("cuStreamQuery", &e, 13000, 0, &q);
      return e == exported("cuStreamQuery");
    }());
  });
  add("init.getproc_null_symbol", RAW, [](Rec& r) {
    void* p = nullptr;
    CUdriverProcAddressQueryResult q = CU_GET_PROC_ADDRESS_SUCCESS;
    r.k("res", cuGetProcAddress(nullptr, &p, 12000, 0, &q));
  });
  add("init.getproc_null_out", RAW, [](Rec& r) {
    CUdriverProcAddressQueryResult q = CU_GET_PROC_ADDRESS_SUCCESS;
    r.k("res", cuGetProcAddress("cuStreamQuery", nullptr, 12000, 0, &q));
  });

  add("init.error_names", RAW, [](Rec& r) {
    int wrong = 0, checked = 0;
    for (const NamedResult& n : all_results()) {
      const char* s = nullptr;
      checked++;
      if (cuGetErrorName(n.value, &s) != CUDA_SUCCESS || !s || strcmp(s, n.name) != 0) {
        wrong++;
        r.k(std::string("~") + n.name, s ? s : "null");
      }
      s = nullptr;
      if (cuGetErrorString(n.value, &s) != CUDA_SUCCESS || !s || !*s) wrong++;
    }
    r.k("checked", checked);
    r.k("wrong", wrong);
    const char* s = "x";
    r.k("unknown_name", cuGetErrorName(static_cast<CUresult>(123456), &s));
    r.k("unknown_name_null", s == nullptr);
    s = "x";
    r.k("unknown_string", cuGetErrorString(static_cast<CUresult>(123456), &s));
    r.k("unknown_string_null", s == nullptr);
    s = nullptr;
    r.k("success_string", cuGetErrorString(CUDA_SUCCESS, &s));
    r.k("text", s ? s : "null");
    s = nullptr;
    cuGetErrorString(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, &s);
    r.k("text900", s ? s : "null");
    s = nullptr;
    cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &s);
    r.k("text1", s ? s : "null");
  });

  add("init.version", RAW, [](Rec& r) {
    int v = 0;
    r.k("get", cuDriverGetVersion(&v));
    r.k("~version", v);
    r.k("null", cuDriverGetVersion(nullptr));
  });
}

}  // namespace weir::conformance
