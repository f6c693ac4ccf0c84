// SPDX-License-Identifier: Apache-2.0
// module_names_test.cpp - linker names of kernels, matched with the names in the source.
#include "api/kernel/module_names.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::detail {
namespace {

TEST(ModuleNames, MangledNamesMatchTheNamesOfTheSource) {
  EXPECT_TRUE(matches_source_name("fill", "fill"));
  EXPECT_TRUE(matches_source_name("fill", "_Z4fillPii"));
  EXPECT_TRUE(matches_source_name("inner::seven", "_ZN5inner5sevenEPi"));
  EXPECT_FALSE(matches_source_name("seven", "_ZN5inner5sevenEPi"));
  EXPECT_FALSE(matches_source_name("fil", "_Z4fillPii"));
  EXPECT_FALSE(matches_source_name("", "_Z4fillPii"));
  EXPECT_TRUE(matches_source_name("(anonymous namespace)::here", "_ZN12_GLOBAL__N_14hereEPi"));
}

// void scale<float>(float*, float, int), and with a value: void tile<int, 4>(int*)
TEST(ModuleNames, InstanceNamesContainTheirTemplateArguments) {
  EXPECT_TRUE(matches_source_name("scale<float>", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_TRUE(matches_source_name("scale< float >", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_TRUE(matches_source_name("scale", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_FALSE(matches_source_name("scale<double>", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_FALSE(matches_source_name("scal", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_TRUE(matches_source_name("tile<int, 4>", "_Z4tileIiLi4EEvPT_"));
  EXPECT_TRUE(matches_source_name("tile<int,4>", "_Z4tileIiLi4EEvPT_"));
}

TEST(ModuleNames, AllKernelsOfOneNameAreFound) {
  const std::vector<std::string> all{"_Z5scaleIfEvPT_S0_i", "_Z5scaleIdEvPT_S0_i", "fill"};
  EXPECT_EQ(find_matching_names("scale", all).size(), 2u);
  EXPECT_EQ(find_matching_names("scale<double>", all),
            (std::vector<std::string>{"_Z5scaleIdEvPT_S0_i"}));
  EXPECT_TRUE(find_matching_names("none", all).empty());
  EXPECT_EQ(demangled("_Z4fillPii"), "fill(int*, int)");
  EXPECT_EQ(demangled("not mangled"), "not mangled");
}

}  // namespace
}  // namespace weir::detail
