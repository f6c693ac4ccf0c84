// SPDX-License-Identifier: Apache-2.0
// cases/context/device_odd.cpp - device queries with unusual arguments: unknown numbers, short
// buffers, a device as its own peer.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void device_odd_cases() {
  add("device.attribute_numbers", [](Rec& r) {
    int v = -7;
    for (int a :
         {-1, 0, 1, 137, 142, 143, 144, 145, 146, 147, 148, 149, 150, 160, 1000, 0x7fffffff})
      r.k("a" + std::to_string(a),
          cuDeviceGetAttribute(&v, static_cast<CUdevice_attribute>(a), g.dev));
    r.k("bad_dev", cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 99));
    r.k("bad_dev_attr", cuDeviceGetAttribute(&v, static_cast<CUdevice_attribute>(1000), 99));
    r.k("null_bad_attr",
        cuDeviceGetAttribute(nullptr, static_cast<CUdevice_attribute>(1000), g.dev));
  });

  add("device.texture_width", [](Rec& r) {
    const auto ask = [&](CUarray_format format, unsigned channels) {
      size_t width = 77;
      const std::string key =
          "f" + std::to_string(static_cast<unsigned>(format)) + "c" + std::to_string(channels);
      r.k(key, cuDeviceGetTexture1DLinearMaxWidth(&width, format, channels, g.dev));
      r.k(key + ".width", width);
    };
    for (const CUarray_format f :
         {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32,
          CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT})
      for (unsigned channels : {1u, 2u, 4u}) ask(f, channels);
    for (unsigned channels : {0u, 3u, 5u, 100u}) ask(CU_AD_FORMAT_FLOAT, channels);
    for (unsigned f : {0u, 99u, 0xffffu}) ask(static_cast<CUarray_format>(f), 1);
    size_t width = 0;
    r.k("null", cuDeviceGetTexture1DLinearMaxWidth(nullptr, CU_AD_FORMAT_FLOAT, 1, g.dev));
    r.k("bad_dev", cuDeviceGetTexture1DLinearMaxWidth(&width, CU_AD_FORMAT_FLOAT, 1, 99));
  });

  add("device.exec_affinity", [](Rec& r) {
    for (int type : {0, 1, 2, 99, -1}) {
      int v = 77;
      r.k("t" + std::to_string(type),
          cuDeviceGetExecAffinitySupport(&v, static_cast<CUexecAffinityType>(type), g.dev));
      r.k("t" + std::to_string(type) + ".value", v);
    }
    int v = 0;
    r.k("null", cuDeviceGetExecAffinitySupport(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT, g.dev));
    r.k("bad_dev", cuDeviceGetExecAffinitySupport(&v, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 99));
    r.k("bad_dev_type",
        cuDeviceGetExecAffinitySupport(&v, static_cast<CUexecAffinityType>(99), 99));
  });

  add("device.uuid", [](Rec& r) {
    CUuuid a{}, b{};
    r.k("get", cuDeviceGetUuid(&a, g.dev));
    r.k("again", cuDeviceGetUuid(&b, g.dev));
    r.k("same", memcmp(&a, &b, sizeof a) == 0);
    const CUuuid zero{};
    r.k("is_zero", memcmp(&a, &zero, sizeof a) == 0);
    r.k("null", cuDeviceGetUuid(nullptr, g.dev));
    r.k("bad_dev", cuDeviceGetUuid(&a, 99));
    r.k("null_bad_dev", cuDeviceGetUuid(nullptr, 99));
  });

  add("device.name_sizes", [](Rec& r) {
    char whole[256] = "";
    OK(cuDeviceGetName(whole, sizeof whole, g.dev));
    const size_t size = strlen(whole);
    for (int length : {1, 2, 5}) {
      char text[256];
      memset(text, '#', sizeof text);
      const std::string key = "n" + std::to_string(length);
      r.k(key, cuDeviceGetName(text, length, g.dev));
      r.k(key + ".ended", memchr(text, 0, sizeof text) == text + length - 1);
      r.k(key + ".next_kept", text[length] == '#');
    }
    char text[256];
    r.k("exact", cuDeviceGetName(text, static_cast<int>(size) + 1, g.dev));
    r.k("exact.same", strncmp(text, whole, sizeof text) == 0);
    r.k("one_less", cuDeviceGetName(text, static_cast<int>(size), g.dev));
    r.k("one_less.cut", strlen(text) == size - 1);
    r.k("null", cuDeviceGetName(nullptr, 10, g.dev));
    r.k("bad_dev", cuDeviceGetName(text, 10, 99));
    r.k("null_bad_dev", cuDeviceGetName(nullptr, 10, 99));
  });
  add("device.name_negative_size", ISO, [](Rec& r) {
    char whole[256] = "", text[256] = "";
    OK(cuDeviceGetName(whole, sizeof whole, g.dev));
    r.k("res", cuDeviceGetName(text, -1, g.dev));
    r.k("whole", strncmp(text, whole, sizeof text) == 0);
  });
  add("device.name_no_size", ISO, [](Rec& r) {
    char text[256] = "";
    r.k("res", cuDeviceGetName(text, 0, g.dev));
  });

  add("device.bus_id", [](Rec& r) {
    char id[64] = "";
    r.k("get", cuDeviceGetPCIBusId(id, sizeof id, g.dev));
    r.k("length", strlen(id));
    for (int length : {-1, 0, 1, 5, 12, 13, 14}) {
      char text[64];
      memset(text, '#', sizeof text);
      const std::string key = "n" + std::to_string(length);
      r.k(key, cuDeviceGetPCIBusId(text, length, g.dev));
      r.k(key + ".ended", memchr(text, 0, sizeof text) != nullptr);
    }
    CUdevice d = -1;
    const auto back = [&](const std::string& key, const std::string& text) {
      d = -1;
      r.k(key, cuDeviceGetByPCIBusId(&d, text.c_str()));
      r.k(key + ".same", d == g.dev);
    };
    const std::string whole = id;
    back("whole", whole);
    back("lower", lower(whole));
    back("no_function", whole.substr(0, whole.size() - 2));
    back("~no_domain", whole.substr(whole.find(':') + 1));
    back("long_domain", "0000" + whole);
    back("function7", whole.substr(0, whole.size() - 1) + "7");
    back("empty", "");
    back("words", "not a bus");
    back("none_there", "0000:fe:1f.0");
    back("trailing", whole + "x");
    back("leading_space", " " + whole);
    r.k("null_out", cuDeviceGetByPCIBusId(nullptr, id));
    r.k("null_text", cuDeviceGetByPCIBusId(&d, nullptr));
  });

  add("device.peers_with_itself", [](Rec& r) {
    int v = 77;
    for (int a : {0, 1, 2, 3, 4, 5, 6, 99}) {
      r.k("a" + std::to_string(a),
          cuDeviceGetP2PAttribute(&v, static_cast<CUdevice_P2PAttribute>(a), g.dev, g.dev));
      r.k("a" + std::to_string(a) + ".untouched", v == 77);
    }
    const CUdevice_P2PAttribute access = CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
    r.k("bad_src", cuDeviceGetP2PAttribute(&v, access, 99, g.dev));
    r.k("bad_dst", cuDeviceGetP2PAttribute(&v, access, g.dev, 99));
    r.k("null", cuDeviceGetP2PAttribute(nullptr, access, g.dev, g.dev));
    r.k("null_bad_dev", cuDeviceGetP2PAttribute(nullptr, access, 99, 99));
    r.k("can_null", cuDeviceCanAccessPeer(nullptr, g.dev, g.dev));
    r.k("can_bad_dev", cuDeviceCanAccessPeer(&v, 99, g.dev));
    r.k("can_bad_peer", cuDeviceCanAccessPeer(&v, g.dev, 99));
    r.k("can_bad_both", cuDeviceCanAccessPeer(&v, 99, 99));
    r.k("can_null_bad_dev", cuDeviceCanAccessPeer(nullptr, 99, 99));
  });

  add("device.older_questions", [](Rec& r) {
    int major = 0, minor = 0;
    r.k("capability", cuDeviceComputeCapability(&major, &minor, g.dev));
    r.k("capability_is", std::to_string(major) + "." + std::to_string(minor));
    r.k("capability_null_minor", cuDeviceComputeCapability(&major, nullptr, g.dev));
    r.k("capability_null_major", cuDeviceComputeCapability(nullptr, &minor, g.dev));
    r.k("capability_bad_dev", cuDeviceComputeCapability(&major, &minor, 99));
    CUdevprop p{};
    r.k("properties", cuDeviceGetProperties(&p, g.dev));
    r.k("threads", p.maxThreadsPerBlock);
    r.k("warp", p.SIMDWidth);
    r.k("properties_null", cuDeviceGetProperties(nullptr, g.dev));
    r.k("properties_bad_dev", cuDeviceGetProperties(&p, 99));
    size_t bytes = 0;
    r.k("total_null", cuDeviceTotalMem(nullptr, g.dev));
    r.k("total_bad_dev", cuDeviceTotalMem(&bytes, 99));
    CUdevice d = 0;
    r.k("get_bad", cuDeviceGet(&d, 99));
    r.k("get_neg", cuDeviceGet(&d, -1));
    r.k("get_null_bad", cuDeviceGet(nullptr, 99));
  });

  add("device.graph_memory", [](Rec& r) {
    for (int a : {0, 1, 2, 3, 4, 99, -1}) {
      cuuint64_t v = 77;
      const auto which = static_cast<CUgraphMem_attribute>(a);
      r.k("get" + std::to_string(a), cuDeviceGetGraphMemAttribute(g.dev, which, &v));
      r.k("value" + std::to_string(a), v);
      v = 0;
      r.k("set0_" + std::to_string(a), cuDeviceSetGraphMemAttribute(g.dev, which, &v));
      v = 5;
      r.k("set5_" + std::to_string(a), cuDeviceSetGraphMemAttribute(g.dev, which, &v));
    }
    cuuint64_t v = 0;
    r.k("get_bad_dev", cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v));
    r.k("set_bad_dev", cuDeviceSetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &v));
    r.k("get_bad_dev_attr",
        cuDeviceGetGraphMemAttribute(99, static_cast<CUgraphMem_attribute>(99), &v));
    r.k("trim", cuDeviceGraphMemTrim(g.dev));
    r.k("trim_bad_dev", cuDeviceGraphMemTrim(99));
  });
  add("device.graph_memory_null_get", ISO, [](Rec& r) {
    r.k("bad_attr",
        cuDeviceGetGraphMemAttribute(g.dev, static_cast<CUgraphMem_attribute>(99), nullptr));
    r.k("res", cuDeviceGetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, nullptr));
  });
  add("device.graph_memory_null_set", ISO, [](Rec& r) {
    r.k("res", cuDeviceSetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, nullptr));
  });

  add("device.export_table", ISO, [](Rec& r) {
    const void* table = reinterpret_cast<const void*>(1);
    CUuuid id;
    memset(&id, 0x5c, sizeof id);
    r.k("unknown", cuGetExportTable(&table, &id));
    r.k("unknown.out", table == nullptr                            ? "null"
                       : table == reinterpret_cast<const void*>(1) ? "untouched"
                                                                   : "made");
  });
  add("device.export_table_nulls", ISO, [](Rec& r) {
    const void* table = nullptr;
    CUuuid id{};
    r.k("null_out", cuGetExportTable(nullptr, &id));
    r.k("null_id", cuGetExportTable(&table, nullptr));
  });

  add("device.error_numbers", [](Rec& r) {
    for (int code : {-1,  5,   106, 199, 208, 298, 299, 300, 305, 400, 402,  500,
                     501, 600, 601, 719, 803, 900, 918, 919, 998, 999, 1000, 1023}) {
      const char* name = "untouched";
      const char* text = "untouched";
      const std::string key = "e" + std::to_string(code);
      r.k(key, cuGetErrorName(static_cast<CUresult>(code), &name));
      r.k(key + ".is", name ? name : "null");
      r.k(key + ".text", cuGetErrorString(static_cast<CUresult>(code), &text));
      r.k(key + ".says", text ? text : "null");
    }
  });

  add("device.capture_mode_numbers", ISO, [](Rec& r) {
    for (int m : {0, 1, 2, 3, 99, -1}) {
      CUstreamCaptureMode mode = static_cast<CUstreamCaptureMode>(m);
      r.k("m" + std::to_string(m), cuThreadExchangeStreamCaptureMode(&mode));
      r.k("m" + std::to_string(m) + ".was", mode);
    }
  });

  add("device.surface_limits", [](Rec& r) {
    for (int a = 55; a <= 68; ++a) {
      int value = -7;
      OK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(a), g.dev));
      r.k("a" + std::to_string(a), value);
    }
  });
}

}  // namespace weir::conformance
