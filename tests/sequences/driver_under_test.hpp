// sequences/driver_under_test.hpp - the driver that the calls go to, in its two forms.
#pragma once

#include "driver/table.hpp"

namespace weir::sequences {

using namespace weir::abi;
using detail::driver_table;

// The same functions twice: null is the legacy default stream, or the calling thread's own.
struct driver_under_test {
  driver_table plain;
  driver_table per_thread;
};

// Both forms of an initialised driver; the second as its cuGetProcAddress gives it.
[[nodiscard]] driver_under_test load_both_forms(const driver_table& plain);

// The library that WEIR_LIBCUDA names, else libcuda.so.1, opened and initialised. Ends the process
// with a message if that does not work.
[[nodiscard]] driver_under_test open_driver_under_test();

}  // namespace weir::sequences
