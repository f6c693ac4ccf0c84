// SPDX-License-Identifier: Apache-2.0
// faults/every_call.hpp - fails each driver call of an operation in turn and checks what is left.
#pragma once

#include <weir/core/deferred.hpp>
#include <weir/core/error.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/unhandled_errors.hpp"

namespace weir::test {

using detail::driver_table;
using detail::fault_table;

// A driver function and its access to the fault table.
struct driver_function {
  std::string_view symbol;
  const char* name;  // its name in errors
  void (*fail)(fault_table&, int nth, abi::CUresult code);
  void (*fail_from)(fault_table&, abi::CUresult code);  // the next call and all later ones
  int (*count)(const fault_table&);
};

inline constexpr driver_function driver_functions[] = {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  {#symbol, #base,                                                           \
   [](fault_table& table, int nth, abi::CUresult code) {                     \
     table.fail(&driver_table::symbol, nth, code);                           \
   },                                                                        \
   [](fault_table& table, abi::CUresult code) {                              \
     table.fail_from(&driver_table::symbol, 1, code);                        \
   },                                                                        \
   [](const fault_table& table) { return table.count(&driver_table::symbol); }},
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

// Expects that everything that an operation created was destroyed; each kind has a pair of
// functions.
inline void expect_no_leaks(const fault_table& calls, std::string_view failed) {
  const auto check = [&](auto create, auto destroy, std::string_view symbol) {
    const int created = calls.count(create) - (failed == symbol ? 1 : 0);
    EXPECT_EQ(created, calls.count(destroy))
        << symbol << " and its counterpart, after a failure of " << failed;
  };
  check(&driver_table::cuStreamCreateWithPriority, &driver_table::cuStreamDestroy_v2,
        "cuStreamCreateWithPriority");
  // Kinds of object that several functions create and one destroys.
  const auto made = [&](auto create, std::string_view symbol) {
    return calls.count(create) - (failed == symbol ? 1 : 0);
  };
  EXPECT_EQ(made(&driver_table::cuEventCreate, "cuEventCreate") +
                made(&driver_table::cuIpcOpenEventHandle, "cuIpcOpenEventHandle"),
            calls.count(&driver_table::cuEventDestroy_v2))
      << "events, after a failure of " << failed;
  EXPECT_EQ(made(&driver_table::cuMemAllocAsync, "cuMemAllocAsync") +
                made(&driver_table::cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync"),
            calls.count(&driver_table::cuMemFreeAsync))
      << "stream-ordered memory, after a failure of " << failed;
  EXPECT_EQ(
      made(&driver_table::cuMemAlloc_v2, "cuMemAlloc_v2") +
          made(&driver_table::cuMemAllocManaged, "cuMemAllocManaged") +
          made(&driver_table::cuExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer") +
          made(&driver_table::cuMemPoolImportPointer, "cuMemPoolImportPointer"),
      calls.count(&driver_table::cuMemFree_v2))
      << "memory of devices, after a failure of " << failed;
  EXPECT_EQ(made(&driver_table::cuGraphCreate, "cuGraphCreate") +
                made(&driver_table::cuGraphClone, "cuGraphClone") +
                made(&driver_table::cuStreamEndCapture, "cuStreamEndCapture") -
                // a capture that began with this function returns an existing graph
                made(&driver_table::cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph"),
            calls.count(&driver_table::cuGraphDestroy))
      << "graphs, after a failure of " << failed;
  EXPECT_EQ(made(&driver_table::cuModuleLoadData, "cuModuleLoadData") +
                made(&driver_table::cuModuleLoadDataEx, "cuModuleLoadDataEx"),
            calls.count(&driver_table::cuModuleUnload))
      << "modules, after a failure of " << failed;
  check(&driver_table::cuCtxEnablePeerAccess, &driver_table::cuCtxDisablePeerAccess,
        "cuCtxEnablePeerAccess");
  EXPECT_EQ(made(&driver_table::cuMemPoolCreate, "cuMemPoolCreate") +
                made(&driver_table::cuMemPoolImportFromShareableHandle,
                     "cuMemPoolImportFromShareableHandle"),
            calls.count(&driver_table::cuMemPoolDestroy))
      << "pools, after a failure of " << failed;
  check(&driver_table::cuMemHostAlloc, &driver_table::cuMemFreeHost, "cuMemHostAlloc");
  check(&driver_table::cuIpcOpenMemHandle_v2, &driver_table::cuIpcCloseMemHandle,
        "cuIpcOpenMemHandle_v2");
  check(&driver_table::cuGreenCtxCreate, &driver_table::cuGreenCtxDestroy, "cuGreenCtxCreate");
  check(&driver_table::cuImportExternalSemaphore, &driver_table::cuDestroyExternalSemaphore,
        "cuImportExternalSemaphore");
  check(&driver_table::cuCtxPushCurrent_v2, &driver_table::cuCtxPopCurrent_v2,
        "cuCtxPushCurrent_v2");
  check(&driver_table::cuDevicePrimaryCtxRetain, &driver_table::cuDevicePrimaryCtxRelease_v2,
        "cuDevicePrimaryCtxRetain");
}

// The number of calls of each driver function, in the order of driver_functions.
inline std::vector<int> call_counts_of(const fault_table& calls) {
  std::vector<int> counts;
  for (const driver_function& function : driver_functions) counts.push_back(function.count(calls));
  return counts;
}

// Calls one(function, nth) for each counted call, until a fatal test failure. Omits popping the
// current context and the second of two exchanges of the capture mode, as these calls restore
// state.
template <class One>
void for_each_call(const std::vector<int>& counts, const One& one) {
  int calls = 0;
  for (std::size_t which = 0; which < counts.size(); ++which) {
    const driver_function& function = driver_functions[which];
    if (function.symbol == "cuCtxPopCurrent_v2") continue;
    const int step = function.symbol == "cuThreadExchangeStreamCaptureMode" ? 2 : 1;
    for (int nth = 1; nth <= counts[which]; nth += step) {
      SCOPED_TRACE(testing::Message() << function.symbol << ", call " << nth);
      one(function, nth);
      ++calls;
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(calls, 0) << "the operation makes no driver call";
}

// Returns what `make` returns, if it returns a value.
template <class Make>
auto made_by(const Make& make) {
  if constexpr (std::is_void_v<decltype(make())>) {
    make();
    return 0;
  } else {
    return make();
  }
}

// Runs make() once for each driver call that it makes, with that call failing. Each time expects a
// weir::error with the driver's code and the call's name, no attached errors, no leak and no
// unhandled error. The result of make() is destroyed without failures.
template <class Make>
void every_call_may_fail(const Make& make) {
  constexpr abi::CUresult code =
      abi::CUDA_ERROR_SYSTEM_NOT_READY;  // a code without special handling
  made_by(make);  // creates what exists once per process, such as a primary context
  drain_deferred();

  std::vector<int> counts;
  {
    const fault_table calls;
    [[maybe_unused]] const auto made = made_by(make);
    counts = call_counts_of(calls);
  }
  drain_deferred();

  int failures = 0;
  for_each_call(counts, [&](const driver_function& function, int nth) {
    const unhandled_errors unhandled;
    fault_table faults;
    function.fail(faults, nth, code);
    int asked = 0;
    const auto failure = failure_of([&] {
      [[maybe_unused]] const auto made = made_by(make);
      asked = function.count(faults);
    });
    drain_deferred();
    // The calls depend on the thread's cache of recent streams, and so on their handles: some calls
    // may be missing, or happen only when the result is destroyed.
    if (!failure && asked < nth) return;
    ++failures;
    ASSERT_TRUE(failure) << "the failure was not reported";
    EXPECT_EQ(failure->result(), errc::system_not_ready);
    EXPECT_STREQ(failure->call(), function.name);
    EXPECT_TRUE(failure->attached().empty());
    EXPECT_GT(failure->where().line(), 0u);
    EXPECT_EQ(unhandled.count(), 0u);
    expect_no_leaks(faults, function.symbol);
  });
  EXPECT_GT(failures, 0) << "the repeated operation makes no driver call";
}

}  // namespace weir::test
