// SPDX-License-Identifier: Apache-2.0
// cases/memory/ranges.cpp - reserved address ranges and allocations to map there, released at the
// end of a case.
#include "cases/memory/ranges.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace weir::conformance {

CUmemAllocationProp on_device(CUmemAllocationHandleType shared_as) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = shared_as;
  prop.location = place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev);
  return prop;
}

CUmemLocation place(CUmemLocationType type, int id) {
  CUmemLocation where{};
  where.type = type;
  where.id = id;
  return where;
}

CUmemAccessDesc access_of(CUmemLocation where, CUmemAccess_flags flags) {
  CUmemAccessDesc desc{};
  desc.location = where;
  desc.flags = flags;
  return desc;
}

Range::Range(size_t bytes) : n(bytes) { OK(cuMemAddressReserve(&p, n, 0, 0, 0)); }

Range::~Range() {
  if (!p) return;
  if (cuMemUnmap(p, n) != CUDA_SUCCESS)
    for (size_t at = 0; at < n; at += kGrain) cuMemUnmap(p + at, kGrain);
  cuMemAddressFree(p, n);
}

Piece::Piece(size_t bytes, CUmemAllocationHandleType shared_as) {
  const CUmemAllocationProp prop = on_device(shared_as);
  OK(cuMemCreate(&h, bytes, &prop, 0));
}

Piece::~Piece() {
  if (h) cuMemRelease(h);
}

CUresult Piece::release() { return cuMemRelease(std::exchange(h, 0)); }

CUresult open_access(CUdeviceptr p, size_t bytes, CUmemAccess_flags flags) {
  const CUmemAccessDesc desc = access_of(place(CU_MEM_LOCATION_TYPE_DEVICE, g.dev), flags);
  return cuMemSetAccess(p, bytes, &desc, 1);
}

Mapped::Mapped(size_t bytes, CUmemAllocationHandleType shared_as)
    : va(bytes), memory(bytes, shared_as) {
  OK(cuMemMap(va, bytes, 0, memory, 0));
  OK(open_access(va, bytes));
}

void put_byte(CUdeviceptr p, unsigned char value) {
  OK(cuMemsetD8(p, value, 1));
  OK(cuCtxSynchronize());
}

unsigned get_byte(CUdeviceptr p) {
  unsigned char value = 0;
  OK(cuMemcpyDtoH(&value, p, 1));
  return value;
}

void rec_in_capture(Rec& r, const std::string& key, const std::function<CUresult()>& call) {
  Stream s(NB);
  begin(s);
  r.k(key, call());
  r.k(key + ".capture", capture_status(s));
  CUgraph graph = nullptr;
  r.k(key + ".end", cuStreamEndCapture(s, &graph));
  if (graph) cuGraphDestroy(graph);
}

Fd::~Fd() {
  if (is_open()) close(n);
}

bool Fd::is_open() const { return n >= 0 && fcntl(n, F_GETFD) >= 0; }

}  // namespace weir::conformance
