// SPDX-License-Identifier: Apache-2.0
// cases/memory/pool/pools.hpp - memory pools owned by a case.
#pragma once

#include "probe/probe.hpp"

#include <initializer_list>
#include <string>
#include <utility>

namespace weir::conformance {

// Returns the properties of a pool on the case's device.
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
void set_pool_u64(CUmemoryPool p, CUmemPool_attribute a, cuuint64_t value);

// The reuse policies of a pool. Its threshold is the maximum, so that nothing is released
// automatically.
enum Reuse : unsigned { NONE = 0, FOLLOW = 1, OPPORTUNISTIC = 2, INTERNAL = 4, ALL = 7 };
void set_reuse(CUmemoryPool p, unsigned policies);

CUdeviceptr pool_alloc(CUmemoryPool p, size_t bytes, CUstream s);

// Returns where an address lies: "a" for the start of a block named a, "a+512" or "a-512" for less
// than 64 MiB from the first block of the list, else "elsewhere"; "null" for null.
std::string where(CUdeviceptr p, std::initializer_list<std::pair<const char*, CUdeviceptr>> blocks);

}  // namespace weir::conformance
