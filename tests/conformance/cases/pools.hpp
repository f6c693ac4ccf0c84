// cases/pools.hpp - memory pools of a case's own.
#pragma once

#include "probe/probe.hpp"

namespace weir::conformance {

// Properties of a pool on the device of the case.
CUmemPoolProps pool_props();

class Pool {
 public:
  CUmemoryPool p = nullptr;
  Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();
  operator CUmemoryPool() const { return p; }
};

cuuint64_t pool_u64(CUmemoryPool p, CUmemPool_attribute a);

}  // namespace weir::conformance
