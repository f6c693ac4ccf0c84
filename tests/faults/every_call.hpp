// faults/every_call.hpp - fails each driver call that an operation makes, one by one, and looks at
// what is left.
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

// A function of the driver, as the failing table knows it.
struct driver_function {
  std::string_view symbol;
  const char* name;  // what an error calls it
  void (*fail)(fault_table&, int nth, abi::CUresult code);
  void (*fail_from)(fault_table&, abi::CUresult code);  // the next call and all after it
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

// What an operation creates, a pair of functions a kind, is gone in the end.
inline void expect_no_leaks(const fault_table& calls, std::string_view failed) {
  const auto check = [&](auto create, auto destroy, std::string_view symbol) {
    const int created = calls.count(create) - (failed == symbol ? 1 : 0);
    EXPECT_EQ(created, calls.count(destroy))
        << symbol << " and its counterpart, after a failure of " << failed;
  };
  check(&driver_table::cuStreamCreateWithPriority, &driver_table::cuStreamDestroy_v2,
        "cuStreamCreateWithPriority");
  // What several functions make and one gives back.
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
                // what these begin hands back a graph that was there
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

// How often each function of the driver has been called, in the order of driver_functions.
inline std::vector<int> call_counts_of(const fault_table& calls) {
  std::vector<int> counts;
  for (const driver_function& function : driver_functions) counts.push_back(function.count(calls));
  return counts;
}

// one(function, nth) for each of so many calls, until a fatal failure. Popping the current context
// and restoring the thread's capture mode, the second of two exchanges, are left out: they belong
// to the clean-up.
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
  EXPECT_GT(calls, 0) << "no driver call is made at all";
}

// What `make` makes, if it makes anything.
template <class Make>
auto made_by(const Make& make) {
  if constexpr (std::is_void_v<decltype(make())>) {
    make();
    return 0;
  } else {
    return make();
  }
}

// Runs make() once for each driver call that it makes, with that call failing, and expects each
// time: a weir::error with the driver's code and the call's name, nothing attached, nothing left
// behind, nothing in the hook. What make() gives is destroyed with all calls succeeding.
template <class Make>
void every_call_may_fail(const Make& make) {
  constexpr abi::CUresult code =
      abi::CUDA_ERROR_SYSTEM_NOT_READY;  // one that nobody treats specially
  made_by(make);  // what is made once for all, such as a primary context, is there from now on
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
    const unhandled_errors unraised;
    fault_table faults;
    function.fail(faults, nth, code);
    int asked = 0;
    const auto failure = failure_of([&] {
      [[maybe_unused]] const auto made = made_by(make);
      asked = function.count(faults);
    });
    drain_deferred();
    // What a thread remembers of its last few streams depends on their handles: now and then it
    // asks less, or only when what was made is destroyed.
    if (!failure && asked < nth) return;
    ++failures;
    ASSERT_TRUE(failure) << "the call failed and nobody was told";
    EXPECT_EQ(failure->result(), errc::system_not_ready);
    EXPECT_STREQ(failure->call(), function.name);
    EXPECT_TRUE(failure->attached().empty());
    EXPECT_GT(failure->where().line(), 0u);
    EXPECT_EQ(unraised.count(), 0u);
    expect_no_leaks(faults, function.symbol);
  });
  EXPECT_GT(failures, 0) << "no driver call is made a second time";
}

}  // namespace weir::test
