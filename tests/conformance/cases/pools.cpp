// cases/pools.cpp - memory pools of a case's own.
#include "cases/pools.hpp"

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

}  // namespace weir::conformance
