// SPDX-License-Identifier: Apache-2.0
// cases/stream/attr_streams.cpp - stream attributes of the default streams, of capturing streams,
// and copied between streams.
#include "cases/stream/attributes.hpp"
#include "probe/probe.hpp"

#include <utility>

namespace weir::conformance {
namespace {

CUresult set_policy(CUstream s, CUsynchronizationPolicy p) {
  CUstreamAttrValue v = no_value();
  v.syncPolicy = p;
  return cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
}

CUresult set_priority(CUstream s, int p) {
  CUstreamAttrValue v = no_value();
  v.priority = p;
  return cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
}

CUresult set_domain(CUstream s, CUlaunchMemSyncDomain d) {
  CUstreamAttrValue v = no_value();
  v.memSyncDomain = d;
  return cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
}

CUresult set_map(CUstream s, unsigned char one, unsigned char other) {
  CUstreamAttrValue v = no_value();
  v.memSyncDomainMap.default_ = one;
  v.memSyncDomainMap.remote = other;
  return cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v);
}

CUresult set_window(CUstream s, size_t bytes) {
  CUstreamAttrValue v = no_value();
  v.accessPolicyWindow.base_ptr = bytes ? reinterpret_cast<void*>(g.dbuf) : nullptr;
  v.accessPolicyWindow.num_bytes = bytes;
  v.accessPolicyWindow.hitRatio = bytes ? 1.0f : 0.0f;
  return cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
}

// Returns "policy/priority/domain/map/bytes of the window".
std::string told(CUstream s) {
  std::string all;
  CUstreamAttrValue v = no_value();
  auto get = [&](CUstreamAttrID id, auto text) {
    v = no_value();
    const CUresult e = cuStreamGetAttribute(s, id, &v);
    all += (all.empty() ? "" : "/") + (e == CUDA_SUCCESS ? text() : result_name(e));
  };
  get(CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY,
      [&] { return std::to_string(static_cast<int>(v.syncPolicy)); });
  get(CU_STREAM_ATTRIBUTE_PRIORITY, [&] { return std::to_string(v.priority); });
  get(CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN,
      [&] { return std::to_string(static_cast<int>(v.memSyncDomain)); });
  get(CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, [&] {
    return std::to_string(v.memSyncDomainMap.default_) + "-" +
           std::to_string(v.memSyncDomainMap.remote);
  });
  get(CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW,
      [&] { return std::to_string(v.accessPolicyWindow.num_bytes); });
  return all;
}

const std::pair<const char*, CUstream> kDefaults[] = {
    {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};

}  // namespace

void attr_streams_cases() {
  add("attr.default_streams", ISO, [](Rec& r) {
    for (auto& [n, s] : kDefaults) {
      const std::string k = n;
      r.k(k + ".at_first", told(s));
      r.k(k + ".policy", set_policy(s, CU_SYNC_POLICY_SPIN));
      r.k(k + ".priority", set_priority(s, -3));
      r.k(k + ".domain", set_domain(s, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE));
      r.k(k + ".map", set_map(s, 2, 3));
      r.k(k + ".window", set_window(s, 4096));
      r.k(k + ".now", told(s));
      int p = 77;
      r.k(k + ".get_priority", cuStreamGetPriority(s, &p));
      r.k(k + ".get_priority_value", p);
    }
  });
  add("attr.per_thread_of_threads", ISO, [](Rec& r) {
    // whether each thread has its own setting of the per-thread stream
    OK(set_policy(PER_THREAD, CU_SYNC_POLICY_YIELD));
    on_thread([&] { r.k("other_thread", told(PER_THREAD)); });
    r.k("this_thread", told(PER_THREAD));
  });
  add("attr.copy_all", ISO, [](Rec& r) {
    Stream a(NB, -2), b(BL);
    OK(set_policy(a, CU_SYNC_POLICY_SPIN));
    OK(set_domain(a, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE));
    OK(set_map(a, 2, 3));
    OK(set_window(a, 4096));
    r.k("from", told(a));
    r.k("copy", cuStreamCopyAttributes(b, a));
    r.k("to", told(b));
    int p = 77;
    OK(cuStreamGetPriority(b, &p));
    r.k("to_priority", p);
    for (auto& [n, s] : kDefaults) {
      r.k(std::string("into_") + n, cuStreamCopyAttributes(s, a));
      r.k(std::string("now_") + n, told(s));
    }
    Stream c(NB);
    for (auto& [n, s] : kDefaults) {
      r.k(std::string("out_of_") + n, cuStreamCopyAttributes(c, s));
      r.k(std::string("then_") + n, told(c));
    }
  });
  add("attr.busy", [](Rec& r) {
    Stream s(NB), t(NB);
    ValueGate v;
    v.arm(s);
    r.k("priority", set_priority(s, -1));
    r.k("window", set_window(s, 4096));
    r.k("map", set_map(s, 1, 2));
    r.k("copy", cuStreamCopyAttributes(t, s));
    r.k("told", told(t));
    v.open();
    OK(cuStreamSynchronize(s));
  });
  add("attr.in_capture", ISO, [](Rec& r) {
    for (auto& [n, m] :
         {std::pair<const char*, CUstreamCaptureMode>{"global", GLOBAL}, {"relaxed", RELAXED}}) {
      const std::string k = n;
      Stream s(NB), t(NB);
      begin(s, m);
      r.k(k + ".told", told(s));
      r.k(k + ".policy", set_policy(s, CU_SYNC_POLICY_SPIN));
      r.k(k + ".status1", capture_status(s));
      r.k(k + ".priority", set_priority(s, -3));
      r.k(k + ".status2", capture_status(s));
      r.k(k + ".window", set_window(s, 4096));
      r.k(k + ".domain", set_domain(s, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE));
      r.k(k + ".map", set_map(s, 1, 0));
      r.k(k + ".status3", capture_status(s));
      r.k(k + ".bad", set_policy(s, static_cast<CUsynchronizationPolicy>(99)));
      r.k(k + ".status4", capture_status(s));
      r.k(k + ".copy_out", cuStreamCopyAttributes(t, s));
      r.k(k + ".copy_in", cuStreamCopyAttributes(s, t));
      r.k(k + ".status5", capture_status(s));
      rec_end(r, k + ".end", s);
      r.k(k + ".after", told(s));
    }
  });
  add("attr.legacy_in_capture", ISO, [](Rec& r) {
    Stream s(BL);
    begin(s, RELAXED);
    r.k("get", told(nullptr));
    r.k("status1", capture_status(s));
    r.k("set", set_policy(nullptr, CU_SYNC_POLICY_AUTO));
    r.k("status2", capture_status(s));
    rec_end(r, "end", s);
  });
  add("attr.of_priority_at_creation", [](Rec& r) {
    for (int p : {0, -1, -5}) {
      Stream s(NB, p);
      r.k("p" + std::to_string(-p), told(s));
    }
  });
  add("attr.no_context", [](Rec& r) {
    Stream s(NB);
    OK(cuCtxSetCurrent(nullptr));
    const CUresult set = set_policy(s, CU_SYNC_POLICY_SPIN);
    const std::string have = told(s);
    const std::string null_have = told(nullptr);
    OK(cuCtxSetCurrent(g.ctx));
    r.k("set", set);
    r.k("told", have);
    r.k("null_told", null_have);
  });
}

}  // namespace weir::conformance
