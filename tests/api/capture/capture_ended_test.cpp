// capture_ended_test.cpp - captures by hand of which other threads see that they are over.
#include <weir/memory/buffer.hpp>
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>
#include <weir/core/deferred.hpp>
#include <weir/memory/fill.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "api/core/guard.hpp"
#include "driver/table.hpp"

namespace weir {
namespace {

using detail::driver;

class CaptureEnded : public ::testing::Test {
 protected:
  ~CaptureEnded() override { EXPECT_EQ(detail::open_captures.load(), 0); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

// A thread that begins a capture, ends it past weir, and goes on living without another.
class thread_that_ended_past_weir {
 public:
  explicit thread_that_ended_past_weir(const stream& on) {
    std::promise<void> ended;
    thread_ = std::thread{[&, leave = leave_.get_future()] {
      begin_capture(on);
      abi::CUgraph graph = nullptr;
      EXPECT_EQ(driver().cuStreamEndCapture(on.get(), &graph), abi::CUDA_SUCCESS);
      EXPECT_EQ(driver().cuGraphDestroy(graph), abi::CUDA_SUCCESS);
      ended.set_value();
      leave.wait();
    }};
    ended.get_future().wait();
  }
  thread_that_ended_past_weir(const thread_that_ended_past_weir&) = delete;
  thread_that_ended_past_weir& operator=(const thread_that_ended_past_weir&) = delete;
  ~thread_that_ended_past_weir() {
    leave_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> leave_;
  std::thread thread_;
};

TEST_F(CaptureEnded, WhatWaitsForTheEndOfCapturesSeesThatOneWasEndedPastWeir) {
  auto beside = std::make_unique<buffer<int>>(t, 10);
  const thread_that_ended_past_weir other{s};
  beside.reset();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(CaptureEnded, OneThatWasEndedPastWeirRefusesNothing) {
  const thread_that_ended_past_weir other{s};
  gpu.sync();
}

TEST_F(CaptureEnded, TheNextOneSeesThatAnotherWasEndedPastWeir) {
  const thread_that_ended_past_weir other{s};
  const graph g = capture(s, [] {});
}

// Whoever asks about a capture of another thread keeps nothing from that thread.
TEST_F(CaptureEnded, AThreadHasItsStreamToItselfOnceItsCaptureHasEnded) {
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
