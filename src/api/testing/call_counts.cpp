// SPDX-License-Identifier: Apache-2.0
// api/testing/call_counts.cpp - counts driver calls.
#include <weir/testing/call_counts.hpp>

#include "api/testing/call_failure.hpp"
#include "driver/call_interceptor.hpp"

#include <array>
#include <atomic>

namespace weir::testing {
namespace detail {

class call_counter final : weir::detail::call_observer {
 public:
  call_counter() { weir::detail::add_observer(*this); }
  ~call_counter() { weir::detail::remove_observer(*this); }

  [[nodiscard]] unsigned long long of(const weir::detail::function_set& functions) const noexcept {
    unsigned long long sum = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (functions[i]) sum += calls_[i].load();
    }
    return sum;
  }

 private:
  abi::CUresult before_call(std::size_t function) noexcept override {
    calls_[function].fetch_add(1);
    return abi::CUDA_SUCCESS;
  }

  std::array<std::atomic<unsigned long long>, weir::detail::function_count> calls_{};
};

}  // namespace detail

call_counts::call_counts() : counter_{std::make_unique<detail::call_counter>()} {}
call_counts::~call_counts() = default;

unsigned long long call_counts::of(std::string_view call, call_site at) const {
  return counter_->of(detail::functions_or_throw(call, "weir::testing::call_counts", at));
}

unsigned long long call_counts::all() const noexcept {
  return counter_->of(weir::detail::function_set{}.set());
}

}  // namespace weir::testing
