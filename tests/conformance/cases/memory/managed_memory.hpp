// SPDX-License-Identifier: Apache-2.0
// cases/memory/managed_memory.hpp - managed memory freed at the end of a case, and its attributes.
#pragma once

#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

class Managed {
 public:
  CUdeviceptr p = 0;
  size_t n;
  explicit Managed(size_t bytes = 256 << 10) : n(bytes) {
    OK(cuMemAllocManaged(&p, n, CU_MEM_ATTACH_GLOBAL));
  }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  ~Managed() {
    if (p) cuMemFree(p);
  }
  operator CUdeviceptr() const { return p; }
};

// Records all attributes of a range that are one number.
inline void rec_range(Rec& r, const std::string& key, CUdeviceptr p, size_t n) {
  static constexpr std::pair<const char*, CUmem_range_attribute> kAttributes[] = {
      {"read_mostly", CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY},
      {"preferred", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION},
      {"accessed_by", CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY},
      {"prefetched", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION},
      {"preferred_type", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE},
      {"preferred_id", CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID},
      {"prefetched_type", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE},
      {"prefetched_id", CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID}};
  for (auto& [name, attribute] : kAttributes) {
    int value = 99;
    const CUresult res = cuMemRangeGetAttribute(&value, sizeof value, attribute, p, n);
    if (res == CUDA_SUCCESS)
      r.k(key + "." + name, value);
    else
      r.k(key + "." + name, res);
  }
}

}  // namespace weir::conformance
