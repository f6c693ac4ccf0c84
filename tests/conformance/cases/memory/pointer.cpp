// SPDX-License-Identifier: Apache-2.0
// cases/memory/pointer.cpp - every attribute of a pointer, for every kind of memory.
#include "cases/memory/pool/pools.hpp"
#include "probe/probe.hpp"

#include <cstring>
#include <vector>

namespace weir::conformance {
namespace {

// Returns true for attributes that are addresses, handles or ids: only comparisons of them are
// recorded.
bool is_address(int a) {
  return a == CU_POINTER_ATTRIBUTE_DEVICE_POINTER || a == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
         a == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || a == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR;
}

// Records one attribute, read twice to find how many bytes it writes: "value:bytes", or the error.
// The address and size of the mapping around the pointer depend on the driver.
void rec_attribute(Rec& r, const std::string& key, int a, CUdeviceptr p) {
  unsigned char one[64], two[64];
  memset(one, 0x11, sizeof one);
  memset(two, 0xee, sizeof two);
  const auto id = static_cast<CUpointer_attribute>(a);
  const bool is_free =
      a == CU_POINTER_ATTRIBUTE_MAPPING_SIZE || a == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR;
  const std::string k = (is_free ? "~" : "") + key + "." + std::to_string(a);
  const CUresult e = cuPointerGetAttribute(one, id, p);
  cuPointerGetAttribute(two, id, p);
  if (e != CUDA_SUCCESS) {
    r.k(k, e);
    return;
  }
  size_t written = 0;
  for (size_t i = 0; i < sizeof one; i++) written += one[i] == two[i];
  unsigned long long v = 0;
  memcpy(&v, one, written < sizeof v ? written : sizeof v);
  std::string text = std::to_string(v);
  if (a == CU_POINTER_ATTRIBUTE_CONTEXT)
    text = v == 0 ? "null" : v == reinterpret_cast<uintptr_t>(g.ctx) ? "current" : "other";
  if (is_address(a)) text = v == p ? "same" : v == 0 ? "null" : "off" + std::to_string(p - v);
  if (a == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) text = v == 0 ? "null" : "pool";
  if (a == CU_POINTER_ATTRIBUTE_BUFFER_ID || a == CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID)
    text = v == 0 ? "zero" : "id";
  if (a == CU_POINTER_ATTRIBUTE_P2P_TOKENS) text = "tokens";
  r.k(k, text + ":" + std::to_string(written));
}

// Records every attribute, and the numbers just outside their range.
void rec_every_attribute(Rec& r, const std::string& key, CUdeviceptr p) {
  for (int a = 0; a <= 22; a++) rec_attribute(r, key, a, p);
}

}  // namespace

void pointer_cases() {
  add("pointer.device", [](Rec& r) {
    DevMem d(5000);
    rec_every_attribute(r, "start", d);
    rec_every_attribute(r, "inner", d.p + 4999);
  });
  add("pointer.device_edges", ISO, [](Rec& r) {
    unsigned ty = 0;
    DevMem d(64 << 20);
    r.k("last", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d.p + (64 << 20) - 1));
    DevMem small(5000);
    r.k("small_past_end",
        cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, small.p + 5000));
    CUdeviceptr p = 0;
    OK(cuMemAlloc(&p, 64 << 20));
    OK(cuMemFree(p));
    rec_every_attribute(r, "freed", p);
  });
  add("pointer.pinned", [](Rec& r) {
    for (unsigned f : {0u, 4u, 7u}) {
      void* h = nullptr;
      OK(cuMemHostAlloc(&h, 5000, f));
      rec_every_attribute(r, "f" + std::to_string(f), reinterpret_cast<CUdeviceptr>(h));
      rec_every_attribute(r, "f" + std::to_string(f) + "_inner",
                          reinterpret_cast<CUdeviceptr>(h) + 4999);
      OK(cuMemFreeHost(h));
    }
  });
  add("pointer.registered", [](Rec& r) {
    alignas(4096) static unsigned char page[3][4096];
    OK(cuMemHostRegister(page[1], 4096, 0));
    rec_every_attribute(r, "start", reinterpret_cast<CUdeviceptr>(page[1]));
    rec_every_attribute(r, "inner", reinterpret_cast<CUdeviceptr>(page[1]) + 100);
    unsigned ty = 0;
    auto type_at = [&](const char* n, unsigned char* at) {
      r.k(n, cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   reinterpret_cast<CUdeviceptr>(at)));
    };
    type_at("before", page[0] + 4095);
    type_at("behind", page[2]);
    OK(cuMemHostUnregister(page[1]));
    type_at("unregistered", page[1]);
    OK(cuMemHostRegister(page[1] + 1000, 1000, 0));
    rec_every_attribute(r, "part", reinterpret_cast<CUdeviceptr>(page[1]) + 1000);
    type_at("same_page_before", page[1]);
    type_at("same_page_behind", page[1] + 3000);
    OK(cuMemHostUnregister(page[1] + 1000));
  });
  add("pointer.managed", [](Rec& r) {
    for (unsigned f : {1u, 2u}) {
      CUdeviceptr p = 0;
      OK(cuMemAllocManaged(&p, 5000, f));
      rec_every_attribute(r, "f" + std::to_string(f), p);
      rec_every_attribute(r, "f" + std::to_string(f) + "_inner", p + 4999);
      OK(cuMemFree(p));
    }
  });
  add("pointer.pooled", [](Rec& r) {
    Stream s(NB);
    Pool q;
    const CUdeviceptr p = pool_alloc(q, 5000, s);
    rec_every_attribute(r, "start", p);
    rec_every_attribute(r, "inner", p + 4999);
    OK(cuMemFreeAsync(p, s));
    OK(cuStreamSynchronize(s));
    rec_every_attribute(r, "freed", p);
  });
  add("pointer.of_none", [](Rec& r) {
    int on_stack = 0;
    rec_every_attribute(r, "null", 0);
    rec_every_attribute(r, "stack", reinterpret_cast<CUdeviceptr>(&on_stack));
    rec_every_attribute(r, "high", ~0ull);
  });
  add("pointer.many_of_all", [](Rec& r) {
    DevMem d(5000);
    const std::pair<const char*, CUdeviceptr> ps[] = {
        {"device", d.p},
        {"pinned", reinterpret_cast<CUdeviceptr>(g.pin)},
        {"pageable", reinterpret_cast<CUdeviceptr>(g.page)}};
    for (auto& [n, p] : ps) {
      for (int a = 0; a <= 22; a++) {
        unsigned char one[64], two[64];
        memset(one, 0x11, sizeof one);
        memset(two, 0xee, sizeof two);
        auto id = static_cast<CUpointer_attribute>(a);
        void *first = one, *second = two;
        const CUresult e = cuPointerGetAttributes(1, &id, &first, p);
        cuPointerGetAttributes(1, &id, &second, p);
        size_t written = 0;
        for (size_t i = 0; i < sizeof one; i++) written += one[i] == two[i];
        unsigned long long v = 0;
        memcpy(&v, one, written < sizeof v ? written : sizeof v);
        r.k(std::string(n) + "." + std::to_string(a), result_name(e) + ":" +
                                                          std::to_string(written) +
                                                          (written == 0 || v != 0 ? "" : ":zero"));
      }
    }
  });
  add("pointer.many_bad", [](Rec& r) {
    DevMem d(64);
    unsigned a = 77, b = 77;
    CUpointer_attribute at[2] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 static_cast<CUpointer_attribute>(999)};
    void* out[2] = {&a, &b};
    r.k("second_unknown", cuPointerGetAttributes(2, at, out, d));
    r.k("first_written", a);
    at[1] = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    out[1] = nullptr;
    r.k("null_result", cuPointerGetAttributes(2, at, out, d));
    r.k("null_results", cuPointerGetAttributes(2, at, nullptr, d));
    at[1] = CU_POINTER_ATTRIBUTE_HOST_POINTER;
    void* host = &b;
    out[1] = &host;
    r.k("host_pointer_of_device", cuPointerGetAttributes(2, at, out, d));
    r.k("host_pointer_null", host == nullptr);
    std::vector<CUpointer_attribute> many(100, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    std::vector<void*> outs(100, &a);
    r.k("hundred", cuPointerGetAttributes(100, many.data(), outs.data(), d));
  });
  add("pointer.set", [](Rec& r) {
    alignas(4096) static unsigned char page[4096];
    DevMem d(4096);
    Stream s(NB);
    Pool q;
    CUdeviceptr managed = 0;
    OK(cuMemAllocManaged(&managed, 4096, 1));
    OK(cuMemHostRegister(page, 4096, 0));
    const CUdeviceptr pooled = pool_alloc(q, 4096, s);
    const std::pair<const char*, CUdeviceptr> ps[] = {
        {"device", d.p},
        {"inner", d.p + 100},
        {"pinned", reinterpret_cast<CUdeviceptr>(g.pin)},
        {"registered", reinterpret_cast<CUdeviceptr>(page)},
        {"managed", managed},
        {"pooled", pooled},
        {"pageable", reinterpret_cast<CUdeviceptr>(g.page)},
        {"null", 0}};
    for (auto& [n, p] : ps) {
      for (unsigned v : {1u, 0u, 2u, 256u, 0u}) {
        unsigned value = v, got = 0;
        const std::string k = std::string(n) + std::to_string(v);
        r.k(k, cuPointerSetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
        if (cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p) == CUDA_SUCCESS)
          r.k(k + ".got", got);
      }
    }
    unsigned one = 1;
    for (int a : {0, 1, 2, 7, 8, 13, 16, 22, 999}) {
      r.k("attribute" + std::to_string(a),
          cuPointerSetAttribute(&one, static_cast<CUpointer_attribute>(a), d));
    }
    r.k("null_value", cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d));
    OK(cuMemFreeAsync(pooled, s));
    OK(cuStreamSynchronize(s));
    OK(cuMemHostUnregister(page));
    OK(cuMemFree(managed));
  });
  add("pointer.no_context", [](Rec& r) {
    DevMem d(64);
    unsigned ty = 0, one = 1;
    OK(cuCtxSetCurrent(nullptr));
    const CUresult get = cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d);
    const CUresult set = cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d);
    OK(cuCtxSetCurrent(g.ctx));
    r.k("get", get);
    r.k("set", set);
  });
  add("pointer.ids", [](Rec& r) {
    // whether the ids of a pooled block and of a later block at its address are equal
    Pool q;
    set_reuse(q, ALL);
    Stream s(NB);
    unsigned long long first = 0, second = 0, inner = 0;
    const CUdeviceptr a = pool_alloc(q, 4096, s);
    OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
    OK(cuPointerGetAttribute(&inner, CU_POINTER_ATTRIBUTE_BUFFER_ID, a + 100));
    OK(cuMemFreeAsync(a, s));
    const CUdeviceptr b = pool_alloc(q, 4096, s);
    OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, b));
    r.k("same_place", a == b);
    r.k("same_id", first == second);
    r.k("same_inside", first == inner);
    OK(cuMemFreeAsync(b, s));
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
