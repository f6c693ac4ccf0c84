// module_names_test.cpp - what the source calls a kernel of a linker's name.
#include "api/kernel/module_names.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir::detail {
namespace {

TEST(ModuleNames, AreThoseOfTheSource) {
  EXPECT_TRUE(is_name_of("fill", "fill"));
  EXPECT_TRUE(is_name_of("fill", "_Z4fillPii"));
  EXPECT_TRUE(is_name_of("inner::seven", "_ZN5inner5sevenEPi"));
  EXPECT_FALSE(is_name_of("seven", "_ZN5inner5sevenEPi"));
  EXPECT_FALSE(is_name_of("fil", "_Z4fillPii"));
  EXPECT_FALSE(is_name_of("", "_Z4fillPii"));
  EXPECT_TRUE(is_name_of("(anonymous namespace)::here", "_ZN12_GLOBAL__N_14hereEPi"));
}

// void scale<float>(float*, float, int), and with a value: void tile<int, 4>(int*)
TEST(ModuleNames, OfInstancesHaveTheirArguments) {
  EXPECT_TRUE(is_name_of("scale<float>", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_TRUE(is_name_of("scale< float >", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_TRUE(is_name_of("scale", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_FALSE(is_name_of("scale<double>", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_FALSE(is_name_of("scal", "_Z5scaleIfEvPT_S0_i"));
  EXPECT_TRUE(is_name_of("tile<int, 4>", "_Z4tileIiLi4EEvPT_"));
  EXPECT_TRUE(is_name_of("tile<int,4>", "_Z4tileIiLi4EEvPT_"));
}

TEST(ModuleNames, AllOfOneNameAreFound) {
  const std::vector<std::string> all{"_Z5scaleIfEvPT_S0_i", "_Z5scaleIdEvPT_S0_i", "fill"};
  EXPECT_EQ(named_so("scale", all).size(), 2u);
  EXPECT_EQ(named_so("scale<double>", all), (std::vector<std::string>{"_Z5scaleIdEvPT_S0_i"}));
  EXPECT_TRUE(named_so("none", all).empty());
  EXPECT_EQ(readable("_Z4fillPii"), "fill(int*, int)");
  EXPECT_EQ(readable("not mangled"), "not mangled");
}

}  // namespace
}  // namespace weir::detail
