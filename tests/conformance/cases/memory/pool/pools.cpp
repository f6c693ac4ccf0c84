// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pools.cpp - memory pools owned by a case.
#include "cases/memory/pool/pools.hpp"

#include <cstring>

namespace weir::conformance {

CUmemPoolProps pool_props() {
  CUmemPoolProps p;
  memset(&p, 0, sizeof p);
  p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = g.dev;
  return p;
}

Pool::Pool() {
  CUmemPoolProps q = pool_props();
  OK(cuMemPoolCreate(&p, &q));
}
Pool::~Pool() {
  if (p) cuMemPoolDestroy(p);
}

cuuint64_t pool_u64(CUmemoryPool p, CUmemPool_attribute a) {
  cuuint64_t v = 0;
  OK(cuMemPoolGetAttribute(p, a, &v));
  return v;
}

void set_pool_u64(CUmemoryPool p, CUmemPool_attribute a, cuuint64_t value) {
  OK(cuMemPoolSetAttribute(p, a, &value));
}

void set_reuse(CUmemoryPool p, unsigned policies) {
  const std::pair<CUmemPool_attribute, unsigned> all[] = {
      {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, FOLLOW},
      {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, OPPORTUNISTIC},
      {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, INTERNAL}};
  for (auto& [attribute, bit] : all) {
    int on = (policies & bit) != 0;
    OK(cuMemPoolSetAttribute(p, attribute, &on));
  }
  set_pool_u64(p, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~0ull);
}

CUdeviceptr pool_alloc(CUmemoryPool p, size_t bytes, CUstream s) {
  CUdeviceptr at = 0;
  OK(cuMemAllocFromPoolAsync(&at, bytes, p, s));
  return at;
}

std::string where(CUdeviceptr p,
                  std::initializer_list<std::pair<const char*, CUdeviceptr>> blocks) {
  if (p == 0) return "null";
  for (auto& [name, at] : blocks) {
    if (at == p) return name;
  }
  const auto& [name, at] = *blocks.begin();
  const auto off = static_cast<long long>(p - at);
  constexpr long long near = 64 << 20;
  if (off <= -near || off >= near) return "elsewhere";
  return name + std::string(off > 0 ? "+" : "") + std::to_string(off);
}

}  // namespace weir::conformance
