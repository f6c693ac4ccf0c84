// SPDX-License-Identifier: Apache-2.0
// cases/stream/stream_create.cpp - creation, and queries of a stream's properties.
#include "probe/probe.hpp"

#include <utility>

namespace weir::conformance {

void stream_create_cases() {
  add("stream.create_flags", [](Rec& r) {
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 0x10u, 0x80000000u, 0xffffffffu}) {
      CUstream s = nullptr;
      r.k("f" + std::to_string(f), cuStreamCreate(&s, f));
      if (s) {
        unsigned got = 99;
        cuStreamGetFlags(s, &got);
        r.k("f" + std::to_string(f) + ".got", got);
        cuStreamDestroy(s);
      }
    }
  });
  add("stream.create_priority", [](Rec& r) {
    int lo = 0, hi = 0;
    OK(cuCtxGetStreamPriorityRange(&lo, &hi));
    for (int p : {0, -1, -2, -3, -4, -5, -6, -100, 1, 100}) {
      CUstream s = nullptr;
      std::string k = "p" + std::to_string(p);
      r.k(k, cuStreamCreateWithPriority(&s, NB, p));
      if (s) {
        int got = 99;
        cuStreamGetPriority(s, &got);
        r.k(k + ".got", got);
        cuStreamDestroy(s);
      }
    }
    CUstream s = nullptr;
    r.k("bad_flags", cuStreamCreateWithPriority(&s, 2, 0));
    r.k("blocking_flag", cuStreamCreateWithPriority(&s, BL, hi));
    if (s) cuStreamDestroy(s);
  });
  add("stream.get_flags", [](Rec& r) {
    Stream b(BL), n(NB), p(NB, -1);
    const std::pair<const char*, CUstream> hs[] = {{"blocking", b},    {"nonblocking", n},
                                                   {"prio", p},        {"null", nullptr},
                                                   {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [k, s] : hs) {
      unsigned f = 99;
      r.k(k, cuStreamGetFlags(s, &f));
      r.k(std::string(k) + ".flags", f);
    }
    r.k("out_null", cuStreamGetFlags(b, nullptr));
  });
  add("stream.get_priority", [](Rec& r) {
    Stream b(BL);
    const std::pair<const char*, CUstream> hs[] = {
        {"blocking", b}, {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [k, s] : hs) {
      int f = 99;
      r.k(k, cuStreamGetPriority(s, &f));
      r.k(std::string(k) + ".priority", f);
    }
    r.k("out_null", cuStreamGetPriority(b, nullptr));
  });
  add("stream.get_id", [](Rec& r) {
    Stream a(BL), b(NB);
    unsigned long long ia = 0, ia2 = 0, ib = 0, in = 0, il = 0, ip = 0, ip2 = 0, io = 0, iol = 0;
    r.k("a", cuStreamGetId(a, &ia));
    cuStreamGetId(a, &ia2);
    r.k("b", cuStreamGetId(b, &ib));
    r.k("null", cuStreamGetId(nullptr, &in));
    r.k("legacy", cuStreamGetId(LEGACY, &il));
    r.k("per_thread", cuStreamGetId(PER_THREAD, &ip));
    cuStreamGetId(PER_THREAD, &ip2);
    on_thread([&] {
      cuStreamGetId(PER_THREAD, &io);
      cuStreamGetId(LEGACY, &iol);
    });
    r.k("stable", ia == ia2 && ip == ip2);
    r.k("a_b_differ", ia != ib);
    r.k("null_is_legacy", in == il);
    r.k("per_thread_is_legacy", ip == il);
    r.k("per_thread_same_on_other_thread", ip == io);
    r.k("legacy_same_on_other_thread", il == iol);
    r.k("out_null", cuStreamGetId(a, nullptr));
    unsigned long long ic = 0;
    {
      Stream c(BL);
      cuStreamGetId(c, &ic);
    }
    Stream d(BL);
    unsigned long long id = 0;
    cuStreamGetId(d, &id);
    r.k("id_reused", ic == id);
  });
  add("stream.get_ctx", [](Rec& r) {
    Stream a(NB);
    const std::pair<const char*, CUstream> hs[] = {
        {"created", a}, {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [k, s] : hs) {
      CUcontext c = nullptr;
      r.k(k, cuStreamGetCtx(s, &c));
      r.k(std::string(k) + ".same", c == g.ctx);
      CUcontext c2 = nullptr;
      CUgreenCtx gc = reinterpret_cast<CUgreenCtx>(1);
      r.k(std::string(k) + ".v2", cuStreamGetCtx_v2(s, &c2, &gc));
      r.k(std::string(k) + ".v2_same", c2 == g.ctx);
      r.k(std::string(k) + ".green_null", gc == nullptr);
      CUdevice d = -1;
      r.k(std::string(k) + ".device", cuStreamGetDevice(s, &d));
      r.k(std::string(k) + ".device_ok", d == g.dev);
    }
    r.k("out_null", cuStreamGetCtx(a, nullptr));
  });
}

}  // namespace weir::conformance
