// SPDX-License-Identifier: Apache-2.0
// kernel_fault_test.cpp - a fault in a kernel fails its launch, and nothing else.
#include "kernel_fixture.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <thread>

#include "embedded/kernel/fibers/fiber_stacks.hpp"

namespace weir::embedded {
namespace {

using KernelFault = kernel_test;

// Excludes these deliberate faults from the sanitizers.
#define WEIR_TEST_UNCHECKED __attribute__((no_sanitize("address", "undefined", "thread")))

WEIR_TEST_UNCHECKED void write_to(const thread_of& t) {
  *static_cast<volatile unsigned*>(t.argument) = 1;
}
WEIR_TEST_UNCHECKED void write_behind_a_barrier(const thread_of& t) {
  service.block_barrier(weir_barrier_plain, 0);
  if (t.index == 5) *static_cast<volatile unsigned*>(t.argument) = 1;
  service.block_barrier(weir_barrier_plain, 0);
}
void nothing(const thread_of&) {}
void wait_once(const thread_of&) { service.block_barrier(weir_barrier_plain, 0); }

class KernelFaultInBothForms : public kernel_test, public testing::WithParamInterface<bool> {
 protected:
  // Runs with and without fibers, with one block, and with enough blocks for several workers. Later
  // launches succeed.
  void expect(const weir_kernel& with, const weir_kernel& without, void* argument,
              CUresult answer) {
    const weir_kernel& what = GetParam() ? with : without;
    for (const unsigned blocks : {1u, 1000u}) {
      EXPECT_EQ(run(what, {blocks, 1, 1}, {16, 1, 1}, argument), answer);
      EXPECT_EQ(run(loop<nothing>, {2, 1, 1}, {16, 1, 1}), CUDA_SUCCESS);
      EXPECT_EQ(run(waiting<wait_once>, {2, 1, 1}, {16, 1, 1}), CUDA_SUCCESS);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, KernelFaultInBothForms, testing::Bool(),
                         [](const auto& of) { return of.param ? "Fibers" : "Loop"; });

TEST_P(KernelFaultInBothForms, NullIsAnIllegalAddress) {
  expect(waiting<write_behind_a_barrier>, loop<write_to>, nullptr, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_P(KernelFaultInBothForms, UnmappedMemoryIsAnIllegalAddress) {
  void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect(waiting<write_behind_a_barrier>, loop<write_to>, page, CUDA_ERROR_ILLEGAL_ADDRESS);
  ::munmap(page, 4096);
}

TEST_P(KernelFaultInBothForms, ANonCanonicalAddressIsIllegal) {
  expect(waiting<write_behind_a_barrier>, loop<write_to>,
         reinterpret_cast<void*>(0x1234567812345678), CUDA_ERROR_ILLEGAL_ADDRESS);
}

template <weir_fault Why>
void fail(const thread_of& t) {
  if (t.index == 7) service.fail(Why, nullptr);
}
TEST_P(KernelFaultInBothForms, AFaultReportsItsReason) {
  expect(waiting<fail<weir_fault_trap>>, loop<fail<weir_fault_trap>>, nullptr,
         CUDA_ERROR_LAUNCH_FAILED);
  expect(waiting<fail<weir_fault_assert>>, loop<fail<weir_fault_assert>>, nullptr,
         CUDA_ERROR_ASSERT);
  expect(waiting<fail<weir_fault_misaligned>>, loop<fail<weir_fault_misaligned>>, nullptr,
         CUDA_ERROR_MISALIGNED_ADDRESS);
}

WEIR_TEST_UNCHECKED void divide(const thread_of& t) {
  *static_cast<volatile int*>(t.argument) = 7 / *static_cast<volatile int*>(t.argument);
}
TEST_F(KernelFault, DivisionByZeroFails) {
#if defined(__x86_64__)
  int zero = 0;
  EXPECT_EQ(run(loop<divide>, {1, 1, 1}, {1, 1, 1}, &zero), CUDA_ERROR_LAUNCH_FAILED);
#endif
}

// Recurses endlessly.
WEIR_TEST_UNCHECKED __attribute__((noinline)) unsigned deeper(volatile unsigned* depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(*depth);
  *depth = *depth + 1;
  return *depth == 0 ? 0 : deeper(depth) + static_cast<unsigned>(frame[0]);
}
WEIR_TEST_UNCHECKED void recur(const thread_of& t) {
  auto* const depth = static_cast<volatile unsigned*>(t.argument);
  *depth = deeper(depth);
}
TEST_P(KernelFaultInBothForms, AStackOverflowIsAStackError) {
  unsigned depth = 0;
  expect(waiting<recur>, loop<recur>, &depth, CUDA_ERROR_ILLEGAL_ADDRESS);
}

// CU_LIMIT_STACK_SIZE: threads with their own stacks get the size that the program sets.
WEIR_TEST_UNCHECKED __attribute__((noinline)) unsigned so_deep(unsigned left,
                                                               const volatile char* above) {
  volatile char frame[512];
  frame[0] = *above;
  return left == 0 ? 1 : so_deep(left - 1, frame) + static_cast<unsigned>(frame[0]);
}
WEIR_TEST_UNCHECKED void go_deep(const thread_of& t) {
  constexpr char nothing_there = 0;
  service.block_barrier(weir_barrier_plain, 0);
  auto& done = *static_cast<volatile unsigned*>(t.argument);
  done = done + so_deep(2000, &nothing_there);
}
TEST_F(KernelFault, StacksAreAsLargeAsTheLimit) {
  unsigned done = 0;
  EXPECT_EQ(run(waiting<go_deep>, {1, 1, 1}, {3, 1, 1}, &done), CUDA_ERROR_ILLEGAL_ADDRESS);
  kernel::set_stack_limit(std::size_t{2} << 20);
  EXPECT_EQ(run(waiting<go_deep>, {1, 1, 1}, {3, 1, 1}, &done), CUDA_SUCCESS);
  kernel::set_stack_limit(0);
  EXPECT_EQ(done, 3u);
}

// A thread's stack is as large as a GPU thread's local memory, 512 KiB.
WEIR_TEST_UNCHECKED void use_much_stack(const thread_of& t) {
  volatile char local[512 * 1024];
  for (unsigned at = 0; at < sizeof local; at += 1024)
    local[at] = static_cast<char>(t.index + at / 1024);
  service.block_barrier(weir_barrier_plain, 0);
  auto& wrong = *static_cast<unsigned*>(t.argument);
  for (unsigned at = 0; at < sizeof local; at += 1024) {
    if (local[at] != static_cast<char>(t.index + at / 1024)) ++wrong;
  }
}
TEST_F(KernelFault, AStackIsAsLargeAsLocalMemory) {
  unsigned wrong = 0;
  EXPECT_EQ(run(waiting<use_much_stack>, {1, 1, 1}, {20, 1, 1}, &wrong), CUDA_SUCCESS);
  EXPECT_EQ(wrong, 0u);
}

// Wherever the stack overflows, also inside a driver service for the kernel, the process survives
// and the driver holds no lock.
template <auto Service>
WEIR_TEST_UNCHECKED __attribute__((noinline)) unsigned deeper_with_service(
    volatile unsigned* depth) {
  volatile char frame[200];
  frame[0] = static_cast<char>(*depth);
  *depth = *depth + 1;
  Service();
  return *depth == 0 ? 0 : deeper_with_service<Service>(depth) + static_cast<unsigned>(frame[0]);
}
template <auto Service>
WEIR_TEST_UNCHECKED void recur_with_service(const thread_of& t) {
  auto* const depth = static_cast<volatile unsigned*>(t.argument);
  *depth = deeper_with_service<Service>(depth);
}
void use_heap() { service.free(service.allocate(5000)); }
int print_line(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int answer = service.print(format, arguments);
  va_end(arguments);
  return answer;
}
void print_number() { print_line("%.600f\n", 1.5); }
TEST_P(KernelFaultInBothForms, AStackOverflowInTheDriverIsAKernelFault) {
  unsigned depth = 0;
  expect(waiting<recur_with_service<use_heap>>, loop<recur_with_service<use_heap>>, &depth,
         CUDA_ERROR_ILLEGAL_ADDRESS);
  testing::internal::CaptureStdout();
  const weir_kernel& printing = GetParam() ? waiting<recur_with_service<print_number>>
                                           : loop<recur_with_service<print_number>>;
  EXPECT_EQ(run(printing, {1, 1, 1}, {1, 1, 1}, &depth), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::StartsWith("1.5000"));
}

// Server threads often block all signals; a fault there is caught, too.
TEST_P(KernelFaultInBothForms, AFaultIsCaughtWhileSignalsAreBlocked) {
  std::thread{[this] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    expect(waiting<write_behind_a_barrier>, loop<write_to>, nullptr, CUDA_ERROR_ILLEGAL_ADDRESS);
  }}.join();
}

// Memory outside the device's heap, or already freed, cannot be freed.
void free_argument(const thread_of& t) { service.free(t.argument); }
void free_twice(const thread_of&) {
  void* const memory = service.allocate(100);
  service.free(memory);
  service.free(memory);
}
TEST_F(KernelFault, AFreeOfMemoryOutsideTheHeapFails) {
  alignas(16) static std::array<std::byte, 64> words{};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(loop<free_argument>, {1, 1, 1}, {1, 1, 1}, &words[16]), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(run(loop<free_argument>, {1, 1, 1}, {1, 1, 1}, &words[17]), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(run(loop<free_twice>, {1, 1, 1}, {1, 1, 1}), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("of the device's heap"));
  EXPECT_EQ(run(loop<free_argument>, {1, 1, 1}, {1, 1, 1}, reinterpret_cast<void*>(4096)),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(run(loop<free_argument>, {1, 1, 1}, {1, 1, 1}, nullptr), CUDA_SUCCESS);
}

// Memory behind the shared memory is not writable.
WEIR_TEST_UNCHECKED void write_behind_shared(const thread_of& t) {
  const_cast<volatile unsigned char*>(t.block.shared)[t.block.shared_bytes + 127] = 1;
}
TEST_F(KernelFault, AnAccessPastSharedMemoryFails) {
  EXPECT_EQ(run(loop<write_behind_shared>, {1, 1, 1}, {1, 1, 1}, nullptr, 1024),
            CUDA_ERROR_ILLEGAL_ADDRESS);
}

// A fault of the program itself goes to the handler that the program installed before the driver's;
// without one it ends the process.
void end_with_9(int) { ::_exit(9); }

[[noreturn]] void fault_behind_a_launch() {
  const void* none = nullptr;
  const std::array<const void*, 1> arguments{&none};
  kernel::launch l;
  l.kernel = &loop<nothing>;
  l.arguments = arguments.data();
  if (kernel::run(l) != CUDA_SUCCESS) ::_exit(1);
  ::raise(SIGSEGV);
  ::_exit(0);
}
TEST_F(KernelFault, AFaultOfTheProgramReachesItsHandler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, end_with_9);
        fault_behind_a_launch();
      },
      testing::ExitedWithCode(9), "");
  EXPECT_EXIT(
      fault_behind_a_launch(), [](int status) { return status != 0; }, "");
}

}  // namespace
}  // namespace weir::embedded
