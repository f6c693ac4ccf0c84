// SPDX-License-Identifier: Apache-2.0
// sequences/driver_under_test.hpp - the driver that is called, in its two forms.
#pragma once

#include "driver/table.hpp"

namespace weir::sequences {

using namespace weir::abi;
using detail::driver_table;

// Two sets of the functions: with null as the legacy default stream, and as the calling thread's
// own.
struct driver_under_test {
  driver_table plain;
  driver_table per_thread;
};

// Returns both forms of an initialized driver; the second through its cuGetProcAddress.
[[nodiscard]] driver_under_test load_both_forms(const driver_table& plain);

// Opens and initializes the library that WEIR_LIBCUDA names, else libcuda.so.1. Ends the process
// with a message on failure.
[[nodiscard]] driver_under_test open_driver_under_test();

}  // namespace weir::sequences
