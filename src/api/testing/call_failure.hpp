// SPDX-License-Identifier: Apache-2.0
// api/testing/call_failure.hpp - an observer that makes chosen driver calls fail.
#pragma once

#include "driver/call_interceptor.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/testing/fail_call.hpp>

#include <atomic>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>
#include <variant>

namespace weir::testing::detail {

// Returns the functions with this name; all for any_call. Throws `invalid_value`, naming `user`,
// for an unknown name.
[[nodiscard]] weir::detail::function_set functions_or_throw(std::string_view name, const char* user,
                                                            call_site at);

struct nth_only {
  unsigned n;
};
using call_selection = std::variant<nth_only, every_nth, at_random>;

enum class call_scope : unsigned char { all_threads, this_thread };

// Registered as an observer from its constructor to its destructor.
class call_failure final : weir::detail::call_observer {
 public:
  call_failure(const weir::detail::function_set& functions, call_selection selection, errc code,
               call_scope scope);
  ~call_failure();

  [[nodiscard]] unsigned failures() const noexcept { return failures_.load(); }
  // Returns the base name of the last call that failed; empty if there is none.
  [[nodiscard]] std::string_view name() const noexcept;

 private:
  abi::CUresult before_call(std::size_t function) noexcept override;
  // Returns true if the next call fails. The caller holds lock_.
  [[nodiscard]] bool selects_next_call() noexcept;

  const weir::detail::function_set functions_;
  const call_selection selection_;
  const errc code_;
  const call_scope scope_;
  const std::thread::id thread_ = std::this_thread::get_id();

  std::mutex lock_;
  unsigned calls_ = 0;      // guarded by lock_
  std::mt19937_64 random_;  // guarded by lock_
  std::atomic<unsigned> failures_{0};
  std::atomic<const char*> name_{nullptr};
};

}  // namespace weir::testing::detail
