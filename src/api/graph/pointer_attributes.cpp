// SPDX-License-Identifier: Apache-2.0
// api/graph/pointer_attributes.cpp - queries the driver about an address.
#include "api/graph/pointer_attributes.hpp"

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

namespace weir::detail {

pointer_attributes query_pointer_attributes(const void* address, call_site at) {
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_CONTEXT,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  unsigned kind = 0;
  CUcontext context = nullptr;
  int device = -1;
  void* answers[] = {static_cast<void*>(&kind), static_cast<void*>(&context),
                     static_cast<void*>(&device)};
  pointer_attributes pointer_info;
  // For memory that the driver did not allocate or register, the call succeeds and sets all
  // attributes to 0.
  check(driver().cuPointerGetAttributes(3, attributes, answers, device_address(address)),
        "cuPointerGetAttributes", subject::memory(address), at);
  if (kind != CU_MEMORYTYPE_DEVICE) return pointer_info;
  pointer_info.kind = CU_MEMORYTYPE_DEVICE;
  pointer_info.context = context;
  if (context == nullptr && device >= 0)  // memory of a pool, which has no context
    pointer_info.context = primary_context(weir::device{device}, at);
  return pointer_info;
}

}  // namespace weir::detail
