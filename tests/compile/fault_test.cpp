// SPDX-License-Identifier: Apache-2.0
// tests/compile/fault_test.cpp - output, assertions, traps, clocks, and alignment checks.
#include "compiled.hpp"

namespace weir::test {

class Fault : public Compiled {};

TEST_P(Fault, KernelsPrintToStdout) {
  device_image image{made(R"(#include <stdio.h>
extern "C" __global__ void say(int x) {
  printf("thread %d of %s: %.2f\n", threadIdx.x, __func__, x * 0.5);
  printf("plain\n");
  if (x == 7) puts("seven");
  printf("%c%c\n", 'o', 'k');
})")};
  image.launch("say", {{1, 1, 1}, {2, 1, 1}}, 7);
  EXPECT_EQ(image.output(),
            "thread 0 of say: 3.50\nplain\nseven\nok\nthread 1 of say: 3.50\nplain\nseven\nok\n");
}

TEST_P(Fault, AnAssertionNamesItsLineAndThread) {
  device_image image{made(R"(extern "C" __global__ void check(int limit) {
  assert(threadIdx.x + blockIdx.x * blockDim.x < limit);
})")};
  EXPECT_NO_THROW(image.launch("check", {{2, 1, 1}, {4, 1, 1}}, 8));
  try {
    image.launch("check", {{2, 1, 1}, {4, 1, 1}}, 6);
    FAIL();
  } catch (const kernel_fault& f) {
    EXPECT_EQ(f.why, weir_fault_assert);
    EXPECT_STREQ(f.what(), GetParam() == "g++" ? "program.cu:2: void check(int): block: [1,0,0], "
                                                 "thread: [2,0,0] Assertion `threadIdx.x + "
                                                 "blockIdx.x * blockDim.x < limit` failed."
                                               : "program.cu:2: void check(int): block: [1,0,0], "
                                                 "thread: [2,0,0] Assertion `threadIdx.x + "
                                                 "blockIdx.x * blockDim.x < limit` failed.");
  }
  compile::request quiet;
  quiet.source = "extern \"C\" __global__ void check() { assert(false); }";
  quiet.defines = {"NDEBUG"};
  device_image unchecked{compile::for_host(quiet)};
  EXPECT_NO_THROW(unchecked.launch("check", {}));
}

TEST_P(Fault, TrapsEndTheLaunch) {
  device_image image{made(R"(extern "C" __global__ void stop(long long* out) {
  out[0] = clock64(); out[1] = clock(); out[2] = __globaltimer();
  if (out[0] >= out[1]) return;
  __trap();
})")};
  long long out[3];
  EXPECT_THROW(image.launch("stop", {}, +out), kernel_fault);
  EXPECT_LT(out[1], out[2]);
}

// An access to null is undefined, so an optimizing compiler could remove the whole kernel.
TEST_P(Fault, AccessesToNullAreNotOptimizedAway) {
  device_image image{
      made("extern \"C\" __global__ void store() { *static_cast<int*>(nullptr) = 3; }")};
  EXPECT_DEATH(image.launch("store", {}), "");
}

TEST_P(Fault, MisalignedAccessesAreFoundInADebugBuild) {
  compile::request what;
  what.source = R"(extern "C" __global__ void load(const char* p, int offset, int* out) {
  *out = *reinterpret_cast<const int*>(p + offset);
})";
  what.debug = true;
  device_image image{compile::for_host(what)};
  alignas(8) char memory[16] = {1};
  int out = 0;
  image.launch("load", {}, +memory, 0, &out);
  EXPECT_EQ(out, 1);
  try {
    image.launch("load", {}, +memory, 2, &out);
    FAIL();
  } catch (const kernel_fault& f) {
    EXPECT_EQ(f.why, weir_fault_misaligned);
    EXPECT_NE(std::string(f.what()).find("program.cu:2:"), std::string::npos) << f.what();
  }
}

WEIR_WITH_EVERY_COMPILER(Fault);

}  // namespace weir::test
