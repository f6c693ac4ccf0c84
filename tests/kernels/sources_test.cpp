// SPDX-License-Identifier: Apache-2.0
// sources_test.cpp - the GPU's compiler accepts the suite's sources, if it is installed.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "compile/request.hpp"
#include "kernels/harness/kernel_sources.hpp"

namespace weir::test {
namespace {

TEST(KernelSources, NvrtcCompilesTheKernelSources) {
  try {
    (void)compile::nvrtc_identity();
  } catch (const compile::failure& missing) {
    GTEST_SKIP() << missing.what();
  }
  for (const std::string_view name : kernel_source_names()) {
    SCOPED_TRACE(name);
    compile::request what;
    what.source = kernel_source(name);
    what.name = std::string{name} + ".cu";
    what.architecture = "sm_90";
    what.name_expressions = kernel_instances(name);
    try {
      const compile::product made = compile::with_nvrtc(what);
      EXPECT_FALSE(made.image.empty());
      EXPECT_EQ(made.log, "");
    } catch (const compile::failure& refused) {
      ADD_FAILURE() << refused.log();
    }
  }
}

}  // namespace
}  // namespace weir::test
