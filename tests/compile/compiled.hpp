// SPDX-License-Identifier: Apache-2.0
// tests/compile/compiled.hpp - the fixture of the language tests, which run with every installed
// compiler.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "compile/host/process.hpp"
#include "compile/request.hpp"
#include "device.hpp"

namespace weir::test {

inline std::vector<std::string> compilers() {
  std::vector<std::string> there;
  for (const char* const name : {"g++", "clang++"})
    if (!compile::find_program(name).empty()) there.emplace_back(name);
  return there;
}

class Compiled : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { setenv("WEIR_CXX", GetParam().c_str(), 1); }
  void TearDown() override { unsetenv("WEIR_CXX"); }

  static compile::product made(std::string source, std::vector<std::string> expressions = {}) {
    compile::request what;
    what.source = std::move(source);
    what.name_expressions = std::move(expressions);
    try {
      return compile::for_host(what);
    } catch (const compile::failure& f) {
      ADD_FAILURE() << f.what() << "\n" << f.log();
      throw;
    }
  }
  // Returns the compiler's message for an invalid source.
  static std::string refused(const std::string& source) {
    compile::request what;
    what.source = source;
    try {
      (void)compile::for_host(what);
    } catch (const compile::failure& f) {
      return f.log();
    }
    ADD_FAILURE() << "compiled: " << source;
    return {};
  }
};

#define WEIR_WITH_EVERY_COMPILER(suite)                                 \
  INSTANTIATE_TEST_SUITE_P(Host, suite, testing::ValuesIn(compilers()), \
                           [](const auto& i) { return i.param == "g++" ? "gcc" : "clang"; })

}  // namespace weir::test
