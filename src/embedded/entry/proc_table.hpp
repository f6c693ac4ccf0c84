// SPDX-License-Identifier: Apache-2.0
// embedded/entry/proc_table.hpp - the table that cuGetProcAddress searches by base name, version
// and default stream.
#pragma once

#include "driver/abi.hpp"
#include "embedded/entry/default_stream.hpp"

#include <span>

namespace weir::embedded::entry {

// A version of a function.
struct proc {
  const char* base;   // the name to pass to cuGetProcAddress
  int version;        // the first CUDA version that has the function in this form
  const void* plain;  // a null stream means the legacy default stream
  // a null stream means the thread's own default stream; equals `plain` if the function uses no
  // stream
  const void* per_thread;
};

// The result of a lookup. The address is null unless the status is CU_GET_PROC_ADDRESS_SUCCESS.
struct found_proc {
  const void* address;
  abi::CUdriverProcAddressQueryResult status;
};

// Finds the newest form of a function that is not newer than `version`, for programs in which a
// null stream has this meaning.
[[nodiscard]] found_proc find_proc(const char* base, int version,
                                   default_stream null_meaning) noexcept;

// Replaces the list that find_proc() searches. The drop-in publishes its exported functions when it
// is loaded, because a program may compare a found address with the one it linked against. Without
// the drop-in, the entry points themselves are found. The list must outlive the process.
void publish_procs(std::span<const proc> procs) noexcept;

}  // namespace weir::embedded::entry
