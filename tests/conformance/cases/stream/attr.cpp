// SPDX-License-Identifier: Apache-2.0
// cases/stream/attr.cpp - stream attributes.
#include "probe/probe.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {

void attr_cases() {
  add("attr.defaults", [](Rec& r) {
    Stream s(NB);
    CUstreamAttrValue v;
    memset(&v, 0xee, sizeof v);
    r.k("window", cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    r.k("window_bytes", v.accessPolicyWindow.num_bytes);
    r.k("window_base_null", v.accessPolicyWindow.base_ptr == nullptr);
    r.k("window_hit", static_cast<int>(v.accessPolicyWindow.hitProp));
    r.k("window_miss", static_cast<int>(v.accessPolicyWindow.missProp));
    r.k("window_ratio_pct", static_cast<int>(v.accessPolicyWindow.hitRatio * 100));
    memset(&v, 0, sizeof v);
    r.k("sync_policy", cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    r.k("sync_policy_value", static_cast<int>(v.syncPolicy));
    memset(&v, 0x11, sizeof v);
    r.k("priority", cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    r.k("priority_value", v.priority);
    memset(&v, 0x11, sizeof v);
    r.k("domain", cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
    r.k("domain_value", static_cast<int>(v.memSyncDomain));
    memset(&v, 0x11, sizeof v);
    r.k("domain_map", cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v));
    r.k("domain_map_default", static_cast<int>(v.memSyncDomainMap.default_));
    r.k("domain_map_remote", static_cast<int>(v.memSyncDomainMap.remote));
  });
  add("attr.get_not_for_streams", [](Rec& r) {
    Stream s(NB);
    for (int a : {0, 2, 4, 5, 6, 7, 11, 12, 13, 14, 16, 17, 99}) {
      CUstreamAttrValue v;
      memset(&v, 0, sizeof v);
      r.k("get" + std::to_string(a), cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(a), &v));
    }
    for (int a : {0, 2, 4, 6, 11, 14, 99}) {
      CUstreamAttrValue v;
      memset(&v, 0, sizeof v);
      r.k("set" + std::to_string(a), cuStreamSetAttribute(s, static_cast<CUstreamAttrID>(a), &v));
    }
  });
  add("attr.sync_policy", [](Rec& r) {
    Stream s(NB);
    for (int p : {0, 1, 2, 3, 4, 5, 99}) {
      CUstreamAttrValue v;
      memset(&v, 0, sizeof v);
      v.syncPolicy = static_cast<CUsynchronizationPolicy>(p);
      r.k("set" + std::to_string(p),
          cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
      memset(&v, 0, sizeof v);
      cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
      r.k("got" + std::to_string(p), static_cast<int>(v.syncPolicy));
    }
    ValueGate g1;
    g1.arm(s);
    CUstreamAttrValue v;
    memset(&v, 0, sizeof v);
    v.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
    r.k("set_while_busy", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    record_blocking(r, "sync",
                    blocking([&] { g1.open(); }, [&] { return cuStreamSynchronize(s); }));
  });
  add("attr.priority", [](Rec& r) {
    Stream s(NB), q(NB, -2);
    CUstreamAttrValue v;
    memset(&v, 0x11, sizeof v);
    r.k("get_created", cuStreamGetAttribute(q, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    r.k("created_value", v.priority);
    for (int p : {-1, -5, -50, 0, 50}) {
      memset(&v, 0, sizeof v);
      v.priority = p;
      std::string k = "p" + std::to_string(p);
      r.k(k, cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
      memset(&v, 0x11, sizeof v);
      cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
      r.k(k + ".attr", v.priority);
      int got = 77;
      cuStreamGetPriority(s, &got);
      r.k(k + ".get_priority", got);
    }
  });
  add("attr.mem_sync_domain", [](Rec& r) {
    Stream s(NB);
    for (int d : {0, 1, 2, 99}) {
      CUstreamAttrValue v;
      memset(&v, 0, sizeof v);
      v.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(d);
      r.k("set" + std::to_string(d),
          cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
      memset(&v, 0, sizeof v);
      cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
      r.k("got" + std::to_string(d), static_cast<int>(v.memSyncDomain));
    }
    int count = 0;
    cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, g.dev);
    const int maps[][2] = {{0, 0}, {1, 2}, {3, 3}, {4, 0}, {0, 4}, {200, 1}};
    for (auto& m : maps) {
      CUstreamAttrValue v;
      memset(&v, 0, sizeof v);
      v.memSyncDomainMap.default_ = static_cast<unsigned char>(m[0]);
      v.memSyncDomainMap.remote = static_cast<unsigned char>(m[1]);
      std::string k = "map" + std::to_string(m[0]) + "_" + std::to_string(m[1]);
      r.k(k, cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v));
      memset(&v, 0, sizeof v);
      cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v);
      r.k(k + ".got", std::to_string(v.memSyncDomainMap.default_) + "_" +
                          std::to_string(v.memSyncDomainMap.remote));
    }
    r.k("~count", count);
  });
  add("attr.window", [](Rec& r) {
    Stream s(NB);
    CUstreamAttrValue v;
    memset(&v, 0, sizeof v);
    v.accessPolicyWindow.base_ptr = reinterpret_cast<void*>(g.dbuf);
    v.accessPolicyWindow.num_bytes = 4096;
    v.accessPolicyWindow.hitRatio = 0.5f;
    v.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_STREAMING;
    r.k("set", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    CUstreamAttrValue w;
    memset(&w, 0, sizeof w);
    r.k("get", cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w));
    r.k("bytes", w.accessPolicyWindow.num_bytes);
    r.k("base_same", w.accessPolicyWindow.base_ptr == v.accessPolicyWindow.base_ptr);
    r.k("hit", static_cast<int>(w.accessPolicyWindow.hitProp));
    r.k("miss", static_cast<int>(w.accessPolicyWindow.missProp));
    v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_PERSISTING;
    r.k("miss_persisting", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_NORMAL;
    v.accessPolicyWindow.hitRatio = 1.5f;
    r.k("ratio_above_1", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    v.accessPolicyWindow.hitRatio = -0.5f;
    r.k("ratio_negative", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    v.accessPolicyWindow.hitRatio = 1.0f;
    v.accessPolicyWindow.hitProp = static_cast<CUaccessProperty>(9);
    r.k("bad_prop", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
    memset(&v, 0, sizeof v);
    r.k("clear", cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
  });
  add("attr.special_streams", [](Rec& r) {
    const std::pair<const char*, CUstream> hs[] = {
        {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [k, s] : hs) {
      CUstreamAttrValue v;
      memset(&v, 0x11, sizeof v);
      r.k(std::string(k) + ".get_priority",
          cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
      r.k(std::string(k) + ".priority", v.priority);
      memset(&v, 0, sizeof v);
      r.k(std::string(k) + ".get_policy",
          cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
      r.k(std::string(k) + ".policy", static_cast<int>(v.syncPolicy));
      v.syncPolicy = CU_SYNC_POLICY_YIELD;
      r.k(std::string(k) + ".set_policy",
          cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
      v.syncPolicy = CU_SYNC_POLICY_AUTO;
      cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
    }
  });
  add("attr.copy", [](Rec& r) {
    Stream a(NB), b(NB), c(BL);
    CUstreamAttrValue v;
    memset(&v, 0, sizeof v);
    v.syncPolicy = CU_SYNC_POLICY_YIELD;
    OK(cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    memset(&v, 0, sizeof v);
    v.priority = -3;
    OK(cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    memset(&v, 0, sizeof v);
    v.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    cuStreamSetAttribute(a, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
    r.k("copy", cuStreamCopyAttributes(b, a));
    memset(&v, 0, sizeof v);
    OK(cuStreamGetAttribute(b, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
    r.k("policy", static_cast<int>(v.syncPolicy));
    OK(cuStreamGetAttribute(b, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    r.k("priority", v.priority);
    memset(&v, 0, sizeof v);
    cuStreamGetAttribute(b, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
    r.k("domain", static_cast<int>(v.memSyncDomain));
    r.k("self", cuStreamCopyAttributes(a, a));
    r.k("to_blocking", cuStreamCopyAttributes(c, a));
    unsigned f = 9;
    OK(cuStreamGetFlags(c, &f));
    r.k("flags_kept", f);
    r.k("from_null", cuStreamCopyAttributes(b, nullptr));
    r.k("to_null", cuStreamCopyAttributes(nullptr, nullptr));
  });
  add("attr.copy_across_contexts", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    CUstream t = nullptr;
    {
      Current cur(o);
      OK(cuStreamCreate(&t, NB));
    }
    Stream a(NB);
    r.k("copy", cuStreamCopyAttributes(a, t));
    cuStreamDestroy(t);
  });
}

}  // namespace weir::conformance
