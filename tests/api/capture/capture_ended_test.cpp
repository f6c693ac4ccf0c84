// SPDX-License-Identifier: Apache-2.0
// capture_ended_test.cpp - manual captures whose end is observed by other threads.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "driver/table.hpp"

namespace weir {
namespace {

using detail::driver;

class CaptureEnded : public ::testing::Test {
 protected:
  ~CaptureEnded() override { EXPECT_EQ(detail::active_capture_count.load(), 0); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

// A thread that begins a capture and ends it directly through the driver. The thread keeps running
// without another capture.
class thread_with_directly_ended_capture {
 public:
  explicit thread_with_directly_ended_capture(const stream& on) {
    std::promise<void> ended;
    thread_ = std::thread{[&, exit = exit_.get_future()] {
      begin_capture(on);
      abi::CUgraph graph = nullptr;
      EXPECT_EQ(driver().cuStreamEndCapture(on.get(), &graph), abi::CUDA_SUCCESS);
      EXPECT_EQ(driver().cuGraphDestroy(graph), abi::CUDA_SUCCESS);
      ended.set_value();
      exit.wait();
    }};
    ended.get_future().wait();
  }
  thread_with_directly_ended_capture(const thread_with_directly_ended_capture&) = delete;
  thread_with_directly_ended_capture& operator=(const thread_with_directly_ended_capture&) = delete;
  ~thread_with_directly_ended_capture() {
    exit_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> exit_;
  std::thread thread_;
};

TEST_F(CaptureEnded, ADeferredTaskRunsAfterACaptureIsEndedDirectlyThroughTheDriver) {
  auto beside = std::make_unique<buffer<int>>(t, 10);
  const thread_with_directly_ended_capture other{s};
  beside.reset();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(CaptureEnded, ACaptureEndedDirectlyThroughTheDriverDoesNotBlockASync) {
  const thread_with_directly_ended_capture other{s};
  gpu.sync();
}

TEST_F(CaptureEnded, ACaptureCanBeginAfterAnotherIsEndedDirectlyThroughTheDriver) {
  const thread_with_directly_ended_capture other{s};
  const graph g = capture(s, [] {});
}

// A query from another thread about a capture takes no share in the capturing thread's stream.
TEST_F(CaptureEnded, AThreadOwnsItsStreamAloneOnceItsCaptureHasEnded) {
  std::atomic<bool> over{false};
  std::thread other{[&] {
    for (int i = 0; i < 300; ++i) {
      stream own{gpu};
      begin_capture(own);
      const graph g = end_capture(own);
      const stream again = stream::adopt(own.release());
    }
    over = true;
  }};
  while (!over) {
    const graph g = capture(s, [] {});
    const buffer<int> freed_by_weirs_thread{t, 10};
  }
  other.join();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

}  // namespace
}  // namespace weir
