// cases/pools.hpp - memory pools of a case's own.
#pragma once

#include "probe/probe.hpp"

#include <initializer_list>
#include <string>
#include <utility>

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
void set_pool_u64(CUmemoryPool p, CUmemPool_attribute a, cuuint64_t value);

// Which of the reuse policies a pool has; its threshold is as high as can be, so that nothing goes
// back by itself.
enum Reuse : unsigned { NONE = 0, FOLLOW = 1, OPPORTUNISTIC = 2, INTERNAL = 4, ALL = 7 };
void set_reuse(CUmemoryPool p, unsigned policies);

CUdeviceptr pool_alloc(CUmemoryPool p, size_t bytes, CUstream s);

// Where an address lies: "a" for the start of a block named a, "a+512" or "a-512" for less than 64
// MiB from the first block of the list, else "elsewhere"; "null" for none.
std::string where(CUdeviceptr p, std::initializer_list<std::pair<const char*, CUdeviceptr>> blocks);

}  // namespace weir::conformance
