// SPDX-License-Identifier: Apache-2.0
// weir/testing/call_counts.hpp - how often the program calls the driver.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <memory>
#include <string_view>

namespace weir::testing {

namespace detail {
class call_counter;
}

/// Counts the driver calls that the process makes through weir while the object exists.
///
///   const weir::testing::call_counts counts;
///   run();
///   EXPECT_EQ(counts.of("cuStreamSynchronize"), 1);   // waits once
///
/// Calls of all threads count, including those that weir makes itself. Calls that fail_call fails
/// count if the fail_call was created after this object.
/// Thread safety: members may be called from any thread.
class WEIR_EXPORT call_counts {
 public:
  call_counts();
  call_counts(const call_counts&) = delete;
  call_counts& operator=(const call_counts&) = delete;
  ~call_counts();

  /// Returns the calls of a function of the CUDA driver API. Without a version suffix, the name
  /// stands for all versions of the function.
  ///
  /// Throws: `invalid_value` if no function has this name.
  [[nodiscard]] unsigned long long of(std::string_view call,
                                      call_site at = call_site::current()) const;
  /// Returns the calls of all functions.
  [[nodiscard]] unsigned long long all() const noexcept;

 private:
  std::unique_ptr<detail::call_counter> counter_;
};

}  // namespace weir::testing
