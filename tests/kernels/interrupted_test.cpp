// SPDX-License-Identifier: Apache-2.0
// interrupted_test.cpp - spinning threads of a block all make progress, and endless waits end when
// the launch fails.
#include <pthread.h>
#include <signal.h>
#include <weir/core/error.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>

#include "kernels/harness/kernel_fixture.hpp"
#include "support/errors.hpp"
#include "support/fresh_process.hpp"

namespace weir::test {
namespace {

using word = std::uint32_t;

class Interrupted : public kernel_fixture {
 protected:
  void SetUp() override {
    kernel_fixture::SetUp();
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer keeps signals from a thread that only computes, so what spins "
                    "is not interrupted";
#endif
  }
};

// A preempted thread's registers are preserved.
TEST_F(Interrupted, SpinningThreadsOfABlockTakeTurns) {
  const kernel pass_on = kernel_module("interrupted").kernel("pass_on");
  for (const unsigned threads : {2u, 33u}) {
    const unsigned blocks = 2;
    buffer<word> order{s, blocks * threads};
    buffer<float> sums{s, blocks * threads};
    launch(s, {.grid = {blocks}, .block = {threads}}, pass_on, order, sums);
    std::vector<word> expected(threads);
    std::iota(expected.rbegin(), expected.rend(), 0u);
    const std::vector<word> seen = contents(s, order);
    const std::vector<float> values = contents(s, sums);
    for (unsigned block = 0; block < blocks; ++block) {
      EXPECT_EQ(std::vector(seen.begin() + block * threads, seen.begin() + (block + 1) * threads),
                expected);
      for (unsigned i = 0; i < threads; ++i)
        EXPECT_EQ(values[block * threads + i], static_cast<float>(i));
    }
  }
}

TEST_F(Interrupted, ThreadsOfABlockTakeTurnsWithoutABarrier) {
  pinned_buffer<word> words{3};
  std::ranges::fill(words, 0u);
  launch(s, {.block = {64}}, kernel_module("interrupted").kernel("hand_over"), words);
  s.sync();
  EXPECT_EQ(words[1], 8u);
}

// Starts a kernel that spins on a word that is never written.
void start(const stream& on, const launch_config& config, const kernel& what,
           pinned_buffer<word>& words) {
  std::ranges::fill(words, 0u);
  launch(on, config, what, words);
  while (std::atomic_ref{words[1]}.load() == 0) std::this_thread::yield();
}

// A kernel in another stream fails.
TEST_F(Interrupted, ASpinningKernelEndsWhenTheDeviceFails) {
  for (const char* name : {"wait_for_ever", "wait_for_ever_together"}) {
    in_a_fresh_process([&] {
      const stream spinning{device{}};
      const stream failing{device{}};
      const module& code = kernel_module("interrupted");
      pinned_buffer<word> words{2};
      start(spinning, {.block = {8}}, code.kernel(name), words);
      launch(failing, {}, code.kernel("fail"));
      return WEIR_HOLDS(result_of([&] { spinning.sync(); }) == errc::launch_failed) &&
             WEIR_HOLDS(result_of([&] { failing.sync(); }) == errc::launch_failed);
    });
  }
}

// The program's own signals of that number, and no others, reach its own handler.
std::atomic<int> heard{0};
TEST_F(Interrupted, TheProgramKeepsItsSignalHandlers) {
  in_a_fresh_process([] {
    ::signal(SIGURG, [](int) { ++heard; });
    const stream own{device{}};
    pinned_buffer<word> words{3};
    std::ranges::fill(words, 0u);
    launch(own, {.block = {64}}, kernel_module("interrupted").kernel("hand_over"), words);
    own.sync();
    const bool heard_others = heard != 0;
    ::pthread_kill(::pthread_self(), SIGURG);
    return WEIR_HOLDS(!heard_others) && WEIR_HOLDS(heard == 1);
  });
}

// Another block of the launch fails.
TEST_F(Interrupted, SpinningBlocksEndWhenTheirLaunchFails) {
  in_a_fresh_process([] {
    const stream own{device{}};
    pinned_buffer<word> words{2};
    std::ranges::fill(words, 0u);
    launch(own, {.grid = {3}, .block = {4}, .cooperative = true},
           kernel_module("interrupted").kernel("fail_beside"), words);
    return WEIR_HOLDS(result_of([&] { own.sync(); }) == errc::launch_failed);
  });
}

}  // namespace
}  // namespace weir::test
