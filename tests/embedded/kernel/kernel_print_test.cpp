// SPDX-License-Identifier: Apache-2.0
// kernel_print_test.cpp - printf() in kernels.
#include "kernel_fixture.hpp"

#include <cstdarg>
#include <string>

#include "embedded/kernel/device_print.hpp"

namespace weir::embedded {
namespace {

using KernelPrint = kernel_test;

__attribute__((format(printf, 1, 2))) int print(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int answer = service.print(format, arguments);
  va_end(arguments);
  return answer;
}

void say(const thread_of& t) {
  *static_cast<int*>(t.argument) = print("%s %d%%\n", "thread", static_cast<int>(t.index));
}
void say_much(const thread_of& t) { *static_cast<int*>(t.argument) = print("%*d", 2000, 5); }

std::string printed() {
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

// printf() returns the number of arguments, as on a GPU.
TEST_F(KernelPrint, AKernelPrintsToStdout) {
  int answer = 0;
  testing::internal::CaptureStdout();
  ASSERT_EQ(run(loop<say>, {1, 1, 1}, {2, 1, 1}, &answer), CUDA_SUCCESS);
  EXPECT_EQ(printed(), "thread 0%\nthread 1%\n");
  EXPECT_EQ(answer, 2);
  testing::internal::CaptureStdout();
  ASSERT_EQ(run(waiting<say_much>, {1, 1, 1}, {1, 1, 1}, &answer), CUDA_SUCCESS);
  std::string five_on_the_right(2000, ' ');
  five_on_the_right.back() = '5';
  EXPECT_EQ(printed(), five_on_the_right);
  EXPECT_EQ(answer, 2);
}

TEST_F(KernelPrint, PrintfArgumentsAreCounted) {
  EXPECT_EQ(kernel::arguments_named_by(""), 0);
  EXPECT_EQ(kernel::arguments_named_by("100%%"), 0);
  EXPECT_EQ(kernel::arguments_named_by("%d %-5.3lf %#llx%s"), 4);
  EXPECT_EQ(kernel::arguments_named_by("%*.*f"), 3);
  EXPECT_EQ(kernel::arguments_named_by("%"), 0);
}

}  // namespace
}  // namespace weir::embedded
