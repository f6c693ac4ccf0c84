// SPDX-License-Identifier: Apache-2.0
// weir/testing/fail_call.hpp - driver calls that fail on request.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace weir::testing {

namespace detail {
class call_failure;
}

/// The name that stands for every driver call.
inline constexpr std::string_view any_call = "*";

/// Selects the n-th call, the 2n-th call and so on. `n` is at least 1.
struct every_nth {
  unsigned n;
};

/// Selects calls at random: each with the probability `share`, from 0 to 1. Equal seeds select
/// equal calls.
struct at_random {
  double share;
  std::uint64_t seed = 0;
};

/// While an object of this class exists, chosen driver calls of the process fail with `code` and do
/// not reach the driver.
///
///   weir::testing::fail_call failing{"cuMemAllocAsync", 3, weir::errc::out_of_memory};
///   run();                             // its third allocation fails
///   EXPECT_EQ(failing.failures(), 1);
///
/// `call` is a function of the CUDA driver API, with or without its version suffix, or any_call.
/// Counting starts at 1 with the object. Calls of all threads count, and calls that weir makes
/// itself. Calls that do not go through weir are not seen. Several objects may exist: the first one
/// that selects a call decides.
/// Works on a GPU and on an embedded device. While it exists, every driver call through weir costs
/// more than usual.
///
/// Throws: `invalid_value` if no function has this name, or if `code` is `success`.
/// Thread safety: may be created and destroyed on any thread.
class WEIR_EXPORT fail_call {
 public:
  /// Fails the n-th call only.
  fail_call(std::string_view call, unsigned n, errc code = errc::out_of_memory,
            call_site at = call_site::current());
  /// Fails every n-th call.
  fail_call(std::string_view call, every_nth selection, errc code = errc::out_of_memory,
            call_site at = call_site::current());
  /// Fails calls at random.
  fail_call(std::string_view call, at_random selection, errc code = errc::out_of_memory,
            call_site at = call_site::current());
  fail_call(const fail_call&) = delete;
  fail_call& operator=(const fail_call&) = delete;
  ~fail_call();

  /// Returns the number of calls that have failed.
  [[nodiscard]] unsigned failures() const noexcept;

 private:
  std::unique_ptr<detail::call_failure> failure_;
};

}  // namespace weir::testing
