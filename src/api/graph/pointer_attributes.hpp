// SPDX-License-Identifier: Apache-2.0
// api/graph/pointer_attributes.hpp - the driver's attributes of the memory that a node uses.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

// The driver's attributes of an address: the kind of memory and its context.
struct pointer_attributes {
  abi::CUmemorytype kind = abi::CU_MEMORYTYPE_HOST;  // unknown addresses are pageable host memory
  abi::CUcontext context = nullptr;  // context of device memory; null for host memory
};
[[nodiscard]] pointer_attributes query_pointer_attributes(const void* address, call_site at);

}  // namespace weir::detail
