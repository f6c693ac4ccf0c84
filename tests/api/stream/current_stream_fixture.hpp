// SPDX-License-Identifier: Apache-2.0
// current_stream_fixture.hpp - threads without a current stream, and two streams to make current.
#pragma once

#include <weir/device/context.hpp>
#include <weir/stream/current_stream.hpp>

#include <thread>

#include <gtest/gtest.h>

namespace weir::test {

class current_stream_fixture : public ::testing::Test {
 protected:
  template <class Body>
  void on_a_new_thread(const Body& body) {
    std::thread{[&] {
      const context_scope current{gpu};
      body();
    }}.join();
  }

  device gpu;
  stream a{gpu};
  stream b{gpu};
};

}  // namespace weir::test
