// SPDX-License-Identifier: Apache-2.0
// api/testing/call_failure.cpp - selects the driver calls that fail.
#include "api/testing/call_failure.hpp"

#include "api/core/check.hpp"

#include <fmt/format.h>

namespace weir::testing::detail {

weir::detail::function_set functions_or_throw(std::string_view name, const char* user,
                                              call_site at) {
  if (name == any_call) return weir::detail::function_set{}.set();
  const weir::detail::function_set functions = weir::detail::functions_named(name);
  if (functions.none()) {
    weir::detail::throw_error(errc::invalid_value, user, fmt::format("call \"{}\"", name),
                              "no driver function that weir calls has this name; use a name of the "
                              "CUDA driver API, such as cuMemAllocAsync, or \"*\" for all",
                              at);
  }
  return functions;
}

namespace {

std::uint64_t seed_of(const call_selection& selection) noexcept {
  const auto* const random = std::get_if<at_random>(&selection);
  return random != nullptr ? random->seed : 0;
}

}  // namespace

call_failure::call_failure(const weir::detail::function_set& functions, call_selection selection,
                           errc code, call_scope scope)
    : functions_{functions},
      selection_{selection},
      code_{code},
      scope_{scope},
      random_{seed_of(selection)} {
  weir::detail::add_observer(*this);
}

call_failure::~call_failure() { weir::detail::remove_observer(*this); }

std::string_view call_failure::name() const noexcept {
  const char* const name = name_.load();
  return name != nullptr ? name : std::string_view{};
}

bool call_failure::selects_next_call() noexcept {
  ++calls_;
  if (const auto* const only = std::get_if<nth_only>(&selection_)) return calls_ == only->n;
  if (const auto* const every = std::get_if<every_nth>(&selection_)) return calls_ % every->n == 0;
  constexpr double range = static_cast<double>(std::mt19937_64::max());
  return static_cast<double>(random_()) < std::get<at_random>(selection_).share * range;
}

abi::CUresult call_failure::before_call(std::size_t function) noexcept {
  if (!functions_[function]) return abi::CUDA_SUCCESS;
  if (scope_ == call_scope::this_thread && std::this_thread::get_id() != thread_)
    return abi::CUDA_SUCCESS;
  const std::lock_guard guard{lock_};
  if (!selects_next_call()) return abi::CUDA_SUCCESS;
  name_.store(weir::detail::base_name_of(function));
  failures_.fetch_add(1);
  return static_cast<abi::CUresult>(code_);
}

}  // namespace weir::testing::detail
