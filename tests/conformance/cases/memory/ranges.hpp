// SPDX-License-Identifier: Apache-2.0
// cases/memory/ranges.hpp - reserved address ranges and allocations to map there, released at the
// end of a case.
#pragma once

#include "probe/probe.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace weir::conformance {

// The granularity of allocations on the device, as `vmm.map_and_copy` records it.
inline constexpr size_t kGrain = 2u << 20;

// Returns the properties of an allocation on the case's device.
CUmemAllocationProp on_device(CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE);

CUmemLocation place(CUmemLocationType type, int id = 0);
CUmemAccessDesc access_of(CUmemLocation where,
                          CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

// A reserved address range. The destructor unmaps what is still mapped there, piece by piece.
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

// An allocation without addresses.
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

// Gives the case's device read and write access to what is mapped there.
CUresult open_access(CUdeviceptr p, size_t bytes,
                     CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

// Mapped memory in one object, for cases about something else.
struct Mapped {
  Range va;
  Piece memory;
  explicit Mapped(size_t bytes = kGrain,
                  CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE);
  operator CUdeviceptr() const { return va.p; }
};

// Write and read the first byte there with synchronous calls. They abort the case on failure.
void put_byte(CUdeviceptr p, unsigned char value);
unsigned get_byte(CUdeviceptr p);

// Records what a call returns while another stream of this thread captures, and the state of the
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
  bool is_open() const;  // as a descriptor of this process, now
  void* as_handle() const { return reinterpret_cast<void*>(static_cast<intptr_t>(n)); }
};

}  // namespace weir::conformance
