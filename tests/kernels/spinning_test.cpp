// SPDX-License-Identifier: Apache-2.0
// spinning_test.cpp - kernels that wait for writes to memory block only their own streams.
#include <weir/event/event.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <atomic>
#include <cstdint>
#include <thread>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

using word = std::uint32_t;

void write(word& to, word value) { std::atomic_ref{to}.store(value); }
word read(word& from) { return std::atomic_ref{from}.load(); }
void wait_until_set(word& flag) {
  while (read(flag) == 0) std::this_thread::yield();
}

class Spinning : public kernel_fixture {
 protected:
  // Words that the host and kernels write: word 0 releases the kernels, then come the words that
  // report each kernel's start, and those for the value each has read.
  static constexpr unsigned kernels = 5;
  void SetUp() override { std::ranges::fill(words, 0u); }
  void TearDown() override { write(words[0], 1); }

  word* begun(unsigned i) { return words.data() + 1 + i; }
  word* found(unsigned i) { return words.data() + 1 + kernels + i; }

  // Starts spinning kernels in their own streams, and returns once all have started.
  void spin(const launch_config& config, const kernel& what) {
    for (unsigned i = 0; i < kernels; ++i)
      launch(spinners[i], config, what, begun(i), words.data(), found(i));
    for (unsigned i = 0; i < kernels; ++i) wait_until_set(*begun(i));
  }
  void let_go(word value) {
    write(words[0], value);
    for (unsigned i = 0; i < kernels; ++i) {
      spinners[i].sync();
      EXPECT_EQ(read(*found(i)), value);
    }
  }

  pinned_buffer<word> words{2 + 2 * kernels};
  std::array<stream, kernels> spinners{stream{gpu}, stream{gpu}, stream{gpu}, stream{gpu},
                                       stream{gpu}};
  const module& code = kernel_module("spinning");
  const kernel write_word = code.kernel("write_word");
};

// Kernels and copies of other streams run, and calls that wait for them return.
TEST_F(Spinning, OtherStreamsContinueBesideSpinningKernels) {
  for (const char* name : {"wait_for_word", "wait_for_word_together"}) {
    SCOPED_TRACE(name);
    std::ranges::fill(words, 0u);
    spin({.block = {32}}, code.kernel(name));
    buffer<word> x{s, 1000};
    fill(s, x, 3u);
    launch(s, {}, write_word, x.data() + 7, 5u);
    s.sync();
    EXPECT_EQ(contents(s, x)[7], 5u);
    for (const stream& each : spinners) EXPECT_FALSE(each.done());
    let_go(9);
  }
}

// The host sees a kernel's writes without a driver call.
TEST_F(Spinning, TheHostSeesWritesOfRunningKernels) {
  spin({}, code.kernel("wait_for_word"));
  word& seen = words[1 + 2 * kernels];
  launch(s, {}, write_word, &seen, 4u);
  wait_until_set(seen);
  EXPECT_EQ(read(seen), 4u);
  let_go(2);
}

// A kernel in another stream, launched later, writes the word that they wait for.
TEST_F(Spinning, AKernelReleasesSpinningKernels) {
  for (unsigned i = 0; i < kernels; ++i) {
    launch(spinners[i], {}, code.kernel("wait_for_word"), begun(i), words.data(), found(i));
  }
  launch(s, {}, write_word, words.data(), 6u);
  let_go(6);
}

// Work that waits for the kernel's stream waits.
TEST_F(Spinning, EventsBehindSpinningKernelsWait) {
  word& seen = words[1 + 2 * kernels];
  spin({}, code.kernel("wait_for_word"));
  const event behind = spinners[0].record();
  s.wait(behind);
  launch(s, {}, write_word, &seen, 1u);
  EXPECT_FALSE(behind.done());
  EXPECT_FALSE(s.done());
  stream other{gpu};
  launch(other, {}, write_word, words.data() + 1, 2u);
  other.sync();
  EXPECT_EQ(read(seen), 0u);
  let_go(3);
  s.sync();
  EXPECT_EQ(read(seen), 1u);
}

// The spinning kernels are nodes of a graph.
TEST_F(Spinning, GraphsThatSpinDoNotBlockOtherStreams) {
  std::vector<graph_exec> running;
  for (unsigned i = 0; i < kernels; ++i) {
    const graph recorded = capture(spinners[i], [&] {
      launch(spinners[i], {}, code.kernel("wait_for_word"), begun(i), words.data(), found(i));
    });
    running.push_back(recorded.instantiate());
    running.back().launch(spinners[i]);
  }
  for (unsigned i = 0; i < kernels; ++i) wait_until_set(*begun(i));
  word& seen = words[1 + 2 * kernels];
  launch(s, {}, write_word, &seen, 8u);
  s.sync();
  EXPECT_EQ(read(seen), 8u);
  let_go(5);
}

// The word is in managed memory.
TEST_F(Spinning, TheHostReleasesKernelsThroughManagedMemory) {
  if (!gpu.attribute(device_attribute::concurrent_managed_access))
    GTEST_SKIP() << "not while a kernel runs";
  managed_buffer<word> shared{3};
  std::ranges::fill(shared, 0u);
  launch(s, {}, code.kernel("wait_for_word"), shared.data(), shared.data() + 1, shared.data() + 2);
  wait_until_set(shared[0]);
  write(shared[1], 7);
  s.sync();
  EXPECT_EQ(shared[2], 7u);
}

}  // namespace
}  // namespace weir::test
