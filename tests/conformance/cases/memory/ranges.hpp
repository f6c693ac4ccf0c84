// cases/ranges.hpp - reserved address ranges and allocations to map there, as long as a case.
#pragma once

#include "probe/probe.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace weir::conformance {

// The granularity of allocations on the device, as `vmm.map_and_copy` records it.
inline constexpr size_t kGrain = 2u << 20;

// Properties of an allocation on the device of the case.
CUmemAllocationProp on_device(CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE);

CUmemLocation place(CUmemLocationType type, int id = 0);
CUmemAccessDesc access_of(CUmemLocation where,
                          CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

// Addresses without memory. What is still mapped there at the end is unmapped, piece by piece.
class Range {
 public:
  CUdeviceptr p = 0;
  size_t n;
  explicit Range(size_t bytes = kGrain);
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range();
  operator CUdeviceptr() const { return p; }
};

// Memory without addresses.
class Piece {
 public:
  CUmemGenericAllocationHandle h = 0;
  explicit Piece(size_t bytes = kGrain,
                 CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE);
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece();
  operator CUmemGenericAllocationHandle() const { return h; }
  CUresult release();
};

// Lets the device of the case read and write what is mapped there.
CUresult open_access(CUdeviceptr p, size_t bytes,
                     CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

// Memory and addresses in one, for cases about something else.
struct Mapped {
  Range va;
  Piece memory;
  explicit Mapped(size_t bytes = kGrain,
                  CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE);
  operator CUdeviceptr() const { return va.p; }
};

// The first byte there, written and read by synchronous calls. They abort the case if refused.
void put_byte(CUdeviceptr p, unsigned char value);
unsigned get_byte(CUdeviceptr p);

// Records what a call answers while another stream of this thread captures, and what became of the
// capture.
void rec_in_capture(Rec& r, const std::string& key, const std::function<CUresult()>& call);

// Closes a descriptor when the case ends.
class Fd {
 public:
  int n = -1;
  Fd() = default;
  explicit Fd(int adopt) : n(adopt) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  bool is_open() const;  // a descriptor of this process now
  void* as_handle() const { return reinterpret_cast<void*>(static_cast<intptr_t>(n)); }
};

}  // namespace weir::conformance
