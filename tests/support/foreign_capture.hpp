// SPDX-License-Identifier: Apache-2.0
// support/foreign_capture.hpp - captures started directly through the driver, as another library
// starts them.
#pragma once

#include <weir/stream/stream.hpp>

#include <utility>

#include <gtest/gtest.h>

#include "driver/table.hpp"

namespace weir::test {

// A capture that begins in the stream, and ends at the latest with this object. Unless the test
// calls end() or take(), it must be valid then.
class foreign_capture {
 public:
  explicit foreign_capture(stream_ref origin,
                           abi::CUstreamCaptureMode mode = abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
      : origin_{origin.get()} {
    EXPECT_EQ(detail::driver().cuStreamBeginCapture_v2(origin_, mode), abi::CUDA_SUCCESS);
  }
  foreign_capture(const foreign_capture&) = delete;
  foreign_capture& operator=(const foreign_capture&) = delete;
  ~foreign_capture() {
    if (open_) {
      EXPECT_TRUE(end());
    }
  }

  // Ends the capture and destroys its graph. Returns true if the capture was valid.
  [[nodiscard]] bool end() {
    abi::CUgraph const graph = take();
    return graph != nullptr && detail::driver().cuGraphDestroy(graph) == abi::CUDA_SUCCESS;
  }

  // Ends the capture. Returns its graph, which the caller owns, or null if the capture was
  // invalidated.
  [[nodiscard]] abi::CUgraph take() {
    open_ = false;
    abi::CUgraph graph = nullptr;
    const bool whole = detail::driver().cuStreamEndCapture(origin_, &graph) == abi::CUDA_SUCCESS;
    return whole ? graph : nullptr;
  }

 private:
  abi::CUstream origin_;
  bool open_ = true;
};

}  // namespace weir::test
