// SPDX-License-Identifier: Apache-2.0
// The lists of functions agree with each other.
#include "embedded/entry/entries.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace {

// Each version of a base name has one form: cuGetProcAddress could not distinguish two of them.
TEST(Lists, EachFormOfAFunctionHasItsOwnVersion) {
  std::set<std::pair<std::string_view, int>> forms;
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  EXPECT_TRUE(forms.insert({#base, version}).second) << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
#define WEIR_UNSUPPORTED(symbol, base, version, variant) \
  EXPECT_TRUE(forms.insert({#base, version}).second) << #symbol;
#include "embedded/entry/unsupported.def"
#undef WEIR_UNSUPPORTED
}

TEST(Lists, SymbolsConsistOfABaseNameAndAVersionSuffix) {
  const auto made_of = [](std::string_view symbol, std::string_view base) {
    if (!symbol.starts_with(base)) return false;
    symbol.remove_prefix(base.size());
    return symbol.empty() || (symbol.size() == 3 && symbol.starts_with("_v"));
  };
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  EXPECT_TRUE(made_of(#symbol, #base)) << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
#define WEIR_UNSUPPORTED(symbol, base, version, variant) \
  EXPECT_TRUE(made_of(#symbol, #base)) << #symbol;
#include "embedded/entry/unsupported.def"
#undef WEIR_UNSUPPORTED
}

// Functions that the embedded driver does not implement return an error; the table has no null
// entry.
TEST(Lists, TheEmbeddedTableHasAnEntryForEveryFunction) {
  constexpr const weir::detail::driver_table& table = weir::embedded::entry::entries;
  const auto call = []<class... Arguments>(weir::abi::CUresult (*function)(Arguments...)) {
    return function(Arguments{}...);
  };
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  EXPECT_NE(table.symbol, nullptr) << #symbol;
#include "driver/functions.def"
#undef WEIR_FUNCTION
  EXPECT_EQ(call(table.cuGraphExternalSemaphoresSignalNodeGetParams),
            weir::abi::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(call(table.cuGraphExternalSemaphoresWaitNodeGetParams),
            weir::abi::CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
