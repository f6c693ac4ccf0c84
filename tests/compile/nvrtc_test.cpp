// SPDX-License-Identifier: Apache-2.0
// nvrtc_test.cpp - NVRTC compiles without a GPU: images, messages, names. Skipped if the library is
// not installed.
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "compile/nvrtc/nvrtc_library.hpp"
#include "compile/request.hpp"

namespace weir::compile {
namespace {

class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      static_cast<void>(nvrtc());
    } catch (const failure&) {
      GTEST_SKIP() << "no NVRTC is on this machine";
    }
    what.architecture = "sm_90";
    what.name = "scale.cu";
  }
  [[nodiscard]] std::string log_of_failure() const {
    try {
      static_cast<void>(with_nvrtc(what));
    } catch (const failure& e) {
      EXPECT_NE(std::string{e.what()}.find(e.compiler()), std::string::npos) << e.what();
      EXPECT_EQ(e.compiler().rfind("NVRTC ", 0), 0u) << e.compiler();
      return e.log();
    }
    ADD_FAILURE() << "it compiles";
    return {};
  }
  [[nodiscard]] std::string image() const {
    const product made = with_nvrtc(what);
    return {reinterpret_cast<const char*>(made.image.data()), made.image.size()};
  }
  request what;
};

constexpr const char* scale = R"(
template <class T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__constant__ int table[4];
)";

TEST_F(Nvrtc, NvrtcMakesACubinOrPtx) {
  what.source = "extern \"C\" __global__ void fill(int* x) { *x = VALUE; }";
  what.defines = {"VALUE=42"};
  EXPECT_EQ(image().substr(0, 4), "\177ELF");
  what.architecture = "compute_90";
  const std::string ptx = image();
  EXPECT_NE(ptx.find(".visible .entry fill"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find("42"), std::string::npos) << ptx;
}

// For a device newer than the compiler, the result is PTX for the newest architecture it knows.
TEST_F(Nvrtc, AnUnknownArchitectureGetsPtx) {
  what.source = "extern \"C\" __global__ void fill(int* x) { *x = 1; }";
  what.architecture = "sm_999";
  EXPECT_NE(image().find(".visible .entry fill"), std::string::npos);
}

TEST_F(Nvrtc, ErrorsNameTheLinesOfTheSource) {
  what.source = "int a;\n\n__global__ void f(int* x) { *x = y; }\n";
  const std::string log = log_of_failure();
  EXPECT_NE(log.find("scale.cu(3): error"), std::string::npos) << log;
  EXPECT_NE(log.find("\"y\" is undefined"), std::string::npos) << log;
}

TEST_F(Nvrtc, WarningsAreInTheLog) {
  what.source = "__global__ void f(int* x) { int unused; *x = 1; }\n";
  EXPECT_NE(with_nvrtc(what).log.find("scale.cu(1): warning"), std::string::npos);
}

TEST_F(Nvrtc, NameExpressionsAreLowered) {
  what.source = scale;
  what.name_expressions = {"scale<float>", "scale<double>", "&table"};
  const product made = with_nvrtc(what);
  ASSERT_EQ(made.lowered_names.size(), 3u);
  EXPECT_EQ(made.lowered_names[0].first, "scale<float>");
  EXPECT_EQ(made.lowered_names[0].second, "_Z5scaleIfEvPT_S0_i");
  EXPECT_EQ(made.lowered_names[2].second, "table");
  what.name_expressions = {"scale<nothing>"};
  EXPECT_NE(log_of_failure().find("nothing"), std::string::npos);
}

TEST_F(Nvrtc, HeadersOfTheRequestAreIncluded) {
  what.source = "#include \"mine.h\"\n__global__ void f(int* x) { *x = mine; }\n";
  EXPECT_NE(log_of_failure().find("mine.h"), std::string::npos);
  what.headers = {{"mine.h", "constexpr int mine = 3;"}};
  EXPECT_FALSE(with_nvrtc(what).image.empty());
}

TEST_F(Nvrtc, ToolkitHeadersAreFound) {
  if (toolkit_include_paths(find_nvrtc()).empty())
    GTEST_SKIP() << "no toolkit's headers are on this machine";
  what.source =
      "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <cuda/std/limits>\n"
      "__global__ void f(__half* x) { cooperative_groups::this_thread_block().sync(); *x = "
      "__float2half(1.0f); }\n";
  EXPECT_FALSE(with_nvrtc(what).image.empty());
}

TEST_F(Nvrtc, EveryOptionIsAccepted) {
  what.source = scale;
  what.name_expressions = {"scale<float>"};
  what.standard = "c++20";
  what.fast_math = true;
  what.line_info = true;
  what.max_registers = 32;
  what.extra = {"--restrict"};
  EXPECT_FALSE(with_nvrtc(what).image.empty());
  what.debug = true;
  what.line_info = false;
  EXPECT_FALSE(with_nvrtc(what).image.empty());
  what.extra = {"--no-such-option"};
  EXPECT_NE(log_of_failure().find("no-such-option"), std::string::npos);
}

TEST_F(Nvrtc, TheIdentityNamesNvrtc) {
  EXPECT_EQ(nvrtc_identity(), nvrtc_identity());
  EXPECT_NE(nvrtc_identity().find("nvrtc"), std::string::npos);
}

}  // namespace
}  // namespace weir::compile
