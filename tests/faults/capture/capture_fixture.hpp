// SPDX-License-Identifier: Apache-2.0
// faults/capture/capture_fixture.hpp - two streams to capture, and a check that they accept work in
// the end.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"

namespace weir::test {

class capture_fixture : public ::testing::Test {
 protected:
  ~capture_fixture() override {
    EXPECT_EQ(capture_status_of(s), capture_status::none);
    EXPECT_EQ(capture_status_of(t), capture_status::none);
    EXPECT_EQ(detail::active_capture_count.load(), 0);
    s.sync();
    t.sync();
  }
  // Joins t to the capture of s and queues work of its own on t.
  void fork() {
    t.wait(s);
    fill(t, x, 2);
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  buffer<int> x{s, 100};
};

}  // namespace weir::test
