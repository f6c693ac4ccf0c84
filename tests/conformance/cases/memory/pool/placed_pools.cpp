// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/placed_pools.cpp - pools of any allocation type, at any location.
#include "cases/memory/pool/placed_pools.hpp"

namespace weir::conformance {

CUmemoryPool make_at(CUmemLocation at, CUmemAllocationType type, CUresult& res, size_t most,
                     unsigned handles) {
  CUmemPoolProps p = pool_props();
  p.allocType = type;
  p.location = at;
  p.maxSize = most;
  p.handleTypes = static_cast<CUmemAllocationHandleType>(handles);
  CUmemoryPool q = nullptr;
  res = cuMemPoolCreate(&q, &p);
  return q;
}

}  // namespace weir::conformance
