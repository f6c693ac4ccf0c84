// SPDX-License-Identifier: Apache-2.0
// driver/requested_failure.cpp - counts driver calls up to the one that fails on request.
#include "driver/requested_failure.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace weir::detail {
namespace {

constinit std::atomic<std::uint64_t> calls{0};
constinit std::uint64_t failing_call = 0;  // set before failure_is_requested

bool is_query_of_driver(std::string_view function) noexcept {
  return function == "cuDriverGetVersion" || function.starts_with("cuGetError") ||
         function.starts_with("cuGetProcAddress") || function.starts_with("cuGetExportTable");
}

}  // namespace

bool read_requested_failure() noexcept {
  const char* const value = std::getenv("WEIR_FAIL_CALL");
  if (value == nullptr || *value == '\0') return true;
  const std::string_view text{value};
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size() || number == 0) return false;
  failing_call = number;
  failure_is_requested.store(true, std::memory_order_release);
  return true;
}

abi::CUresult count_call(std::string_view function) noexcept {
  if (is_query_of_driver(function)) return abi::CUDA_SUCCESS;
  if (calls.fetch_add(1) + 1 != failing_call) return abi::CUDA_SUCCESS;
  std::fprintf(stderr, "weir: driver call %llu, %.*s, fails as WEIR_FAIL_CALL says\n",
               static_cast<unsigned long long>(failing_call), static_cast<int>(function.size()),
               function.data());
  return abi::CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace weir::detail
