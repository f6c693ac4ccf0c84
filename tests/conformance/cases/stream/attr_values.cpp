// SPDX-License-Identifier: Apache-2.0
// cases/stream/attr_values.cpp - stream attributes: the valid values of each, and the values
// returned.
#include "cases/stream/attributes.hpp"
#include "probe/probe.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace weir::conformance {
namespace {

CUstreamAttrValue window(CUdeviceptr base, size_t bytes, float ratio, int hit, int miss) {
  CUstreamAttrValue v = no_value();
  v.accessPolicyWindow.base_ptr = reinterpret_cast<void*>(base);
  v.accessPolicyWindow.num_bytes = bytes;
  v.accessPolicyWindow.hitRatio = ratio;
  v.accessPolicyWindow.hitProp = static_cast<CUaccessProperty>(hit);
  v.accessPolicyWindow.missProp = static_cast<CUaccessProperty>(miss);
  return v;
}

// Sets the window, and records the stream's window afterwards.
void rec_window(Rec& r, const std::string& key, CUstream s, const CUstreamAttrValue& v) {
  r.k(key, cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
  CUstreamAttrValue w = no_value();
  cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w);
  r.k(key + ".bytes", w.accessPolicyWindow.num_bytes);
  r.k(key + ".base_same", w.accessPolicyWindow.base_ptr == v.accessPolicyWindow.base_ptr);
  const float ratio = w.accessPolicyWindow.hitRatio;
  r.k(key + ".ratio",
      std::isfinite(ratio) ? std::to_string(static_cast<int>(ratio * 1000)) : "not_finite");
  r.k(key + ".props", std::to_string(w.accessPolicyWindow.hitProp) + "_" +
                          std::to_string(w.accessPolicyWindow.missProp));
}

}  // namespace

void attr_values_cases() {
  add("attr.ids", [](Rec& r) {
    Stream s(NB);
    for (int id : {-1, 1, 3, 8, 9, 10, 15, 18, 19, 20, 24, 0x7fffffff}) {
      CUstreamAttrValue v = no_value();
      r.k("get" + std::to_string(id), cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(id), &v));
    }
    for (int id : {-1, 5, 7, 12, 13, 15, 16, 17, 18, 19, 24, 0x7fffffff}) {
      CUstreamAttrValue v = no_value();
      r.k("set" + std::to_string(id), cuStreamSetAttribute(s, static_cast<CUstreamAttrID>(id), &v));
    }
  });
  add("attr.window_sizes", [](Rec& r) {
    Stream s(NB);
    int most = 0;
    OK(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, g.dev));
    const size_t limit = static_cast<size_t>(most);
    r.k("~limit", most);
    const struct {
      const char* n;
      size_t bytes;
    } all[] = {{"zero", 0},
               {"one", 1},
               {"odd", 4097},
               {"scratch", kScratch},
               {"beyond", kScratch + 1},
               {"half_limit", limit / 2},
               {"limit", limit},
               {"above_limit", limit + 1},
               {"huge", ~size_t{0}}};
    for (auto& x : all) {
      const CUstreamAttrValue v = window(g.dbuf, x.bytes, 1.0f, 1, 0);
      r.k(x.n, cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v));
      CUstreamAttrValue w = no_value();
      cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w);
      r.k(std::string(x.n) + ".kept", w.accessPolicyWindow.num_bytes == x.bytes);
    }
  });
  add("attr.window_ratios", [](Rec& r) {
    Stream s(NB);
    constexpr float inf = std::numeric_limits<float>::infinity();
    const struct {
      const char* n;
      float ratio;
    } all[] = {{"zero", 0.0f},         {"half", 0.5f},        {"one", 1.0f},
               {"just_above", 1.001f}, {"minus_zero", -0.0f}, {"negative", -1.0f},
               {"inf", inf},           {"nan", NAN},          {"tiny", 1e-30f}};
    for (auto& x : all) rec_window(r, x.n, s, window(g.dbuf, 4096, x.ratio, 2, 1));
  });
  add("attr.window_properties", [](Rec& r) {
    Stream s(NB);
    for (int hit : {0, 1, 2, 3, -1}) {
      for (int miss : {0, 1, 2, 3, -1}) {
        rec_window(r, "hit" + std::to_string(hit) + "_miss" + std::to_string(miss), s,
                   window(g.dbuf, 4096, 1.0f, hit, miss));
      }
    }
  });
  add("attr.window_bases", [](Rec& r) {
    Stream s(NB);
    rec_window(r, "null", s, window(0, 4096, 1.0f, 2, 1));
    rec_window(r, "null_zero_bytes", s, window(0, 0, 1.0f, 2, 1));
    rec_window(r, "odd", s, window(g.dbuf + 1, 4096, 1.0f, 2, 1));
    rec_window(r, "pinned", s, window(reinterpret_cast<CUdeviceptr>(g.pin), 4096, 1.0f, 2, 1));
    rec_window(r, "pageable", s, window(reinterpret_cast<CUdeviceptr>(g.page), 4096, 1.0f, 2, 1));
    rec_window(r, "garbage", s, window(0x1234, 4096, 1.0f, 2, 1));
    rec_window(r, "clear", s, window(0, 0, 0.0f, 0, 0));
  });
  add("attr.sync_policy_values", [](Rec& r) {
    Stream s(NB);
    for (int p : {1, 0, -1, 4, 6, 8, 0x7fffffff}) {
      CUstreamAttrValue v = no_value();
      v.syncPolicy = static_cast<CUsynchronizationPolicy>(p);
      r.k("set" + std::to_string(p),
          cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
      v = no_value();
      OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v));
      r.k("got" + std::to_string(p), static_cast<int>(v.syncPolicy));
    }
  });
  add("attr.domain_values", [](Rec& r) {
    Stream s(NB);
    for (int d : {1, -1, 3, 4, 0x7fffffff, 0}) {
      CUstreamAttrValue v = no_value();
      v.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(d);
      r.k("set" + std::to_string(d),
          cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
      v = no_value();
      OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &v));
      r.k("got" + std::to_string(d), static_cast<int>(v.memSyncDomain));
    }
  });
  add("attr.priority_values", [](Rec& r) {
    Stream s(NB, -4);
    for (int p :
         {-3, std::numeric_limits<int>::min(), 1, std::numeric_limits<int>::max(), -6, -2}) {
      CUstreamAttrValue v = no_value();
      v.priority = p;
      r.k("set" + std::to_string(p), cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
      v = no_value();
      OK(cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
      r.k("got" + std::to_string(p), v.priority);
    }
  });
  add("attr.written_bytes", [](Rec& r) {
    // How many of the caller's 64 bytes each attribute writes.
    Stream s(NB);
    for (int id : {1, 3, 8, 9, 10}) {
      unsigned char one[64], two[64];
      memset(one, 0x11, sizeof one);
      memset(two, 0xee, sizeof two);
      OK(cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(id),
                              reinterpret_cast<CUstreamAttrValue*>(one)));
      OK(cuStreamGetAttribute(s, static_cast<CUstreamAttrID>(id),
                              reinterpret_cast<CUstreamAttrValue*>(two)));
      size_t written = 0;
      for (size_t i = 0; i < sizeof one; i++) written += one[i] == two[i];
      r.k("id" + std::to_string(id), written);
    }
  });
}

}  // namespace weir::conformance
