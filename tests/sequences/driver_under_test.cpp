// SPDX-License-Identifier: Apache-2.0
// sequences/driver_under_test.cpp - the driver that is called, in its two forms.
#include "sequences/driver_under_test.hpp"

#include "driver/vendor.hpp"

#include <cstdio>
#include <cstdlib>

namespace weir::sequences {

driver_under_test load_both_forms(const driver_table& plain) {
  driver_under_test driver{.plain = plain, .per_thread = plain};
  const auto ask = [&]<class Function>(Function& member, const char* base, int version) {
    void* found = nullptr;
    const CUresult result = plain.cuGetProcAddress_v2(
        base, &found, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr);
    if (result == CUDA_SUCCESS && found != nullptr) member = reinterpret_cast<Function>(found);
  };
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  ask(driver.per_thread.symbol, #base, version);
#include "driver/functions.def"
#undef WEIR_FUNCTION
  return driver;
}

driver_under_test open_driver_under_test() {
  const char* const named = std::getenv("WEIR_LIBCUDA");
  const detail::vendor_driver opened =
      detail::open_vendor(named != nullptr && *named != '\0' ? named : "libcuda.so.1");
  if (!opened.is_usable()) {
    std::fprintf(stderr, "weir_sequences: %s\n", opened.problem.c_str());
    std::exit(2);
  }
  return load_both_forms(opened.table);
}

}  // namespace weir::sequences
