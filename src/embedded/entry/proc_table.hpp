// embedded/entry/proc_table.hpp - what cuGetProcAddress finds: every function by base name, version
// and default stream.
#pragma once

#include "driver/abi.hpp"

#include <span>

namespace weir::embedded::entry {

// One version of one function.
struct proc {
  const char* base;   // the name that cuGetProcAddress is asked for
  int version;        // the first version of CUDA that has the function in this form
  const void* plain;  // null is the legacy default stream
  const void*
      per_thread;  // null is the thread's own; the same address where a function knows no stream
};

// The address found, and the status that cuGetProcAddress gives with it; the address is null unless
// the status is CU_GET_PROC_ADDRESS_SUCCESS.
struct found_proc {
  const void* address;
  abi::CUdriverProcAddressQueryResult status;
};

// The newest form of a function that is not newer than `version`.
[[nodiscard]] found_proc find_proc(const char* base, int version, bool per_thread) noexcept;

// Makes find_proc answer from another list. The drop-in gives its exported functions when it is
// loaded, since a program may compare what it finds with what it linked against; in a program's own
// process the entries themselves are found. The list must outlive the process.
void publish_procs(std::span<const proc> procs) noexcept;

}  // namespace weir::embedded::entry
