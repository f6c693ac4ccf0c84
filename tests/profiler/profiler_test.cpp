// SPDX-License-Identifier: Apache-2.0
// profiler_test.cpp - the names, ranges and marks that a profiler receives.
#include <weir/device/context.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

// Returns what the tool has received since the last call.
std::string heard() {
  static const auto ask = [] {
    void* const tool = ::dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
    return tool != nullptr ? reinterpret_cast<const char* (*)()>(::dlsym(tool, "what_was_heard"))
                           : nullptr;
  }();
  return ask != nullptr ? ask() : "there is no tool";
}

class Profiler : public ::testing::Test {
 protected:
  Profiler() {
    profile_mark("begin");
    static_cast<void>(heard());
  }

  device gpu;
  stream s{gpu};
};

TEST_F(Profiler, HearsTheNamesOfThings) {
  const event mark{gpu};
  set_name(s, "copies");
  EXPECT_EQ(heard(), "stream copies\n");
  set_name(mark, "ready");
  EXPECT_EQ(heard(), "event ready\n");
  set_name(gpu, "the first");
  EXPECT_EQ(heard(), "device 0 the first\n");
  set_name(gpu.primary_context(), "everything");
  EXPECT_EQ(heard(), "context everything\n");
  set_thread_name("the thread of the tests");
  EXPECT_EQ(heard(), "thread the thread of the tests\n");
  set_name(gpu, "");
  set_name(gpu.primary_context(), "");
}

TEST_F(Profiler, HearsRangesAndMarks) {
  {
    const profile_range outer{"outer"};
    const profile_range inner{std::string{"inner"}};
    profile_mark("here");
  }
  EXPECT_EQ(heard(), "push outer\npush inner\nmark here\npop \npop \n");
}

TEST_F(Profiler, HearsThemInHostFunctions) {
  launch_host(s, [] { const profile_range range{"in a host function"}; });
  s.sync();
  EXPECT_EQ(heard(), "push in a host function\npop \n");
}

}  // namespace
}  // namespace weir
