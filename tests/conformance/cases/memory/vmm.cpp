// SPDX-License-Identifier: Apache-2.0
// cases/memory/vmm.cpp - virtual memory management: the rules that involve streams and copies.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void vmm_cases() {
  add("vmm.map_and_copy", [](Rec& r) {
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = g.dev;
    size_t gran = 0;
    r.k("granularity", cuMemGetAllocationGranularity(&gran, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    r.k("granularity_value", gran);
    CUdeviceptr va = 0;
    CUmemGenericAllocationHandle h = 0;
    r.k("reserve", cuMemAddressReserve(&va, gran, 0, 0, 0));
    r.k("create", cuMemCreate(&h, gran, &p, 0));
    r.k("create_odd_size", [&] {
      CUmemGenericAllocationHandle q = 0;
      CUresult e = cuMemCreate(&q, gran - 1, &p, 0);
      if (e == CUDA_SUCCESS) cuMemRelease(q);
      return e;
    }());
    r.k("map", cuMemMap(va, gran, 0, h, 0));
    r.k("map_twice", cuMemMap(va, gran, 0, h, 0));
    CUmemAccessDesc d;
    memset(&d, 0, sizeof d);
    d.location = p.location;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    r.k("access", cuMemSetAccess(va, gran, &d, 1));
    r.k("memset", cuMemsetD8(va, 7, 64));
    unsigned char b = 0;
    r.k("read", cuMemcpyDtoH(&b, va, 1));
    r.k("value", b);
    unsigned ty = 0;
    r.k("attr", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, va));
    r.k("mem_free", cuMemFree(va));
    r.k("release", cuMemRelease(h));
    r.k("read_after_release", cuMemcpyDtoH(&b, va, 1));
    r.k("unmap", cuMemUnmap(va, gran));
    r.k("unmap_again", cuMemUnmap(va, gran));
    r.k("free_address", cuMemAddressFree(va, gran));
  });
  add("vmm.copy_without_mapping", [](Rec& r) {
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = g.dev;
    size_t gran = 0;
    CUdeviceptr va = 0;
    OK(cuMemGetAllocationGranularity(&gran, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&va, gran, 0, 0, 0));
    r.k("copy", cuMemcpyHtoD(va, g.pin, 16));
    r.k("sync", cuCtxSynchronize());
    r.k("free_address", cuMemAddressFree(va, gran));
    r.k("free_address_again", cuMemAddressFree(va, gran));
  });
  add("vmm.free_address_while_mapped", [](Rec& r) {
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = g.dev;
    size_t gran = 0;
    CUdeviceptr va = 0;
    CUmemGenericAllocationHandle h = 0;
    OK(cuMemGetAllocationGranularity(&gran, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&va, gran, 0, 0, 0));
    OK(cuMemCreate(&h, gran, &p, 0));
    OK(cuMemMap(va, gran, 0, h, 0));
    r.k("free_address", cuMemAddressFree(va, gran));
    r.k("unmap", cuMemUnmap(va, gran));
    r.k("free_address_after", cuMemAddressFree(va, gran));
  });
}

}  // namespace weir::conformance
