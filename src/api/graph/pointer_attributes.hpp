// api/graph/pointer_attributes.hpp - the memory of a node, as the driver has to be told of it.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

// What the driver knows of an address.
struct pointer_attributes {
  abi::CUmemorytype kind =
      abi::CU_MEMORYTYPE_HOST;       // what it does not know is the host's, and pageable
  abi::CUcontext context = nullptr;  // of device memory; null for the host's
};
[[nodiscard]] pointer_attributes query_pointer_attributes(const void* address, call_site at);

// The context of a node that names none: the calling thread's current one, else the primary one of
// device 0.
[[nodiscard]] abi::CUcontext default_node_context(call_site at);

}  // namespace weir::detail
