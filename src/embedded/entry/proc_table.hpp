// SPDX-License-Identifier: Apache-2.0
// embedded/entry/proc_table.hpp - the table of functions that cuGetProcAddress searches.
#pragma once

#include "driver/abi.hpp"
#include "embedded/entry/default_stream.hpp"

#include <span>

namespace weir::embedded::entry {

// A version of a function.
struct proc {
  const char* base;   // the name to pass to cuGetProcAddress
  int version;        // the first CUDA version with this version of the function
  const void* plain;  // a null stream means the legacy default stream
  // The function for which a null stream means the thread's own default stream. Equal to `plain` if
  // there is no such variant.
  const void* per_thread;
};

// The result of a lookup. The address is null unless the status is CU_GET_PROC_ADDRESS_SUCCESS.
struct found_proc {
  const void* address;
  abi::CUdriverProcAddressQueryResult status;
};

// Finds the newest version of a function that is not newer than the CUDA version `version`.
// `null_meaning` selects between proc::plain and proc::per_thread.
[[nodiscard]] found_proc find_proc(const char* base, int version,
                                   default_stream null_meaning) noexcept;

// Replaces the list that find_proc() searches. By default it has the addresses of the entry points.
// The drop-in passes its exported functions when it is loaded, because a program may compare a
// found address with the address of a function that it linked. `procs` must never be destroyed.
void publish_procs(std::span<const proc> procs) noexcept;

// Returns true in the drop-in: after publish_procs().
[[nodiscard]] bool is_dropin() noexcept;

}  // namespace weir::embedded::entry
