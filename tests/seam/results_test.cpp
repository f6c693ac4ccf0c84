// SPDX-License-Identifier: Apache-2.0
// weir::errc, the driver's results and their texts agree.
#include "driver/results.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <weir/core/errc.hpp>

namespace {

TEST(Results, ErrorCodesHaveTheNumbersOfTheDriver) {
#define WEIR_RESULT(name, number, code, text) \
  EXPECT_EQ(static_cast<int>(weir::errc::code), number) << #name;
#include "driver/results.def"
#undef WEIR_RESULT
}

// The naming rule of errc.hpp, except for the name that is a macro elsewhere.
TEST(Results, ErrorCodesAreNamedAfterDriverResults) {
#define WEIR_RESULT(name, number, code, text) EXPECT_EQ(named_after(#name), #code);
  const auto named_after = [](std::string name) {
    name.erase(0, name.starts_with("CUDA_ERROR_") ? 11 : 5);
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return name == "assert" ? "device_assert" : name;
  };
#include "driver/results.def"
#undef WEIR_RESULT
}

TEST(Results, ResultNumbersAreDistinct) {
  std::set<int> numbers;
#define WEIR_RESULT(name, number, code, text) EXPECT_TRUE(numbers.insert(number).second) << #name;
#include "driver/results.def"
#undef WEIR_RESULT
}

TEST(Results, ResultsHaveANameAndAText) {
  EXPECT_STREQ(weir::detail::result_text_of(900).name, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
  EXPECT_STREQ(weir::detail::result_text_of(900).text,
               "operation not permitted when stream is capturing");
  EXPECT_STREQ(weir::detail::result_text_of(123456).name, "a result without a name");
  EXPECT_EQ(weir::detail::known_result_text_of(123456).name, nullptr);
}

}  // namespace
