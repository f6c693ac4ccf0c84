// SPDX-License-Identifier: Apache-2.0
// weir/testing/for_each_failing_call.hpp - runs code once for each of its driver calls, and fails
// that call.
#pragma once

#include <weir/core/errc.hpp>
#include <weir/core/error.hpp>
#include <weir/detail/export.hpp>

#include <concepts>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace weir::testing {

namespace detail {
class call_failure;
}

/// The driver call that fails in one run of for_each_failing_call(). Passed to its body.
class WEIR_EXPORT failing_call {
 public:
  failing_call(unsigned number, errc code);
  failing_call(const failing_call&) = delete;
  failing_call& operator=(const failing_call&) = delete;
  ~failing_call();

  /// Returns the number of the call in the body; the first one is 1.
  [[nodiscard]] unsigned number() const noexcept { return number_; }
  /// Returns true if the call was made, and has failed.
  [[nodiscard]] bool has_failed() const noexcept;
  /// Returns the name of the call: "cuMemAllocAsync". Empty before it has failed.
  [[nodiscard]] std::string_view name() const noexcept;

 private:
  unsigned number_;
  std::unique_ptr<detail::call_failure> failure_;
};

/// Runs `body` again and again: its first driver call fails with `code` in the first run, its
/// second call in the second run, and so on. The last run has no failing call. Returns the number
/// of runs in which a call failed.
///
/// The body sets up what it needs, and checks in each run that nothing is lost: it may throw
/// weir::error or std::bad_alloc in a run with a failure. It may take a const failing_call&.
///
///   weir::testing::for_each_failing_call([&](const weir::testing::failing_call& failing) {
///     SCOPED_TRACE(failing.number());
///     pipeline p{gpu};                         // may throw
///     p.run();
///     EXPECT_TRUE(p.consistent()) << failing.name();
///   });
///
/// Only calls of the calling thread fail. Destructors cannot throw, so an error of a destructor
/// goes to set_unhandled_error_handler().
///
/// Throws: exceptions of the body of other types; what the body throws in the run without a
/// failure.
template <class Body>
requires std::invocable<Body&> || std::invocable<Body&, const failing_call&>
unsigned for_each_failing_call(Body&& body, errc code = errc::out_of_memory) {
  for (unsigned number = 1;; ++number) {
    const failing_call failing{number, code};
    try {
      if constexpr (std::invocable<Body&, const failing_call&>) {
        body(failing);
      } else {
        body();
      }
    } catch (const error&) {
      if (!failing.has_failed()) throw;
    } catch (const std::bad_alloc&) {
      if (!failing.has_failed()) throw;
    }
    if (!failing.has_failed()) return number - 1;
  }
}

}  // namespace weir::testing
