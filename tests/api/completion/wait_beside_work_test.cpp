// SPDX-License-Identifier: Apache-2.0
// wait_beside_work_test.cpp - waits and continuations that end although other threads keep queueing
// work.
#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"

namespace weir {
namespace {

// A thread that queues work without a pause during its lifetime.
class busy_thread {
 public:
  explicit busy_thread(device gpu) : s_{gpu}, x_{s_, 1} {
    while (queued_ < enough) std::this_thread::yield();
  }

 private:
  static constexpr int enough = 1000;

  stream s_;
  buffer<int> x_;
  std::atomic<int> queued_{0};
  std::jthread thread_{[this](const std::stop_token& end) {
    while (!end.stop_requested()) {
      fill(s_, x_, 1);
      ++queued_;
      std::this_thread::yield();
    }
  }};
};

class WaitBesideWork : public test::completion_modes {
 protected:
  WaitBesideWork() { fill(s, x, 2); }

  buffer<int> x{s, 1};
  busy_thread other{gpu};
};
INSTANTIATE_TEST_SUITE_P(Ways, WaitBesideWork, ::testing::Values(false, true), test::name_of_mode);

task<int> await(completion c) {
  co_await c;
  co_return 1;
}

TEST_P(WaitBesideWork, AStreamSyncEndsWhileAnotherThreadQueuesWork) {
  s.sync();
  EXPECT_TRUE(s.done());
}

TEST_P(WaitBesideWork, ACompletionWaitEndsWhileAnotherThreadQueuesWork) { s.completion().wait(); }

TEST_P(WaitBesideWork, ATaskWaitEndsWhileAnotherThreadQueuesWork) {
  EXPECT_EQ(sync_wait(await(s.completion())), 1);
}

TEST_P(WaitBesideWork, ContinuationsRunWhileAnotherThreadQueuesWork) {
  constexpr int many = 50;
  std::vector<stream> streams;
  std::atomic<int> told{0};
  for (int i = 0; i < many; ++i) {
    const stream& one = streams.emplace_back(gpu);
    one.wait(s);
    one.completion().then([&] { ++told; });
  }
  while (told < many) std::this_thread::yield();
}

}  // namespace
}  // namespace weir
