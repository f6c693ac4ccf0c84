// support/foreign_capture.hpp - captures that are begun past weir, as another library begins them.
#pragma once

#include <weir/stream/stream.hpp>

#include <utility>

#include <gtest/gtest.h>

#include "driver/table.hpp"

namespace weir::test {

// A capture that begins in the stream and ends with this, at the latest. Unless end() has asked, it
// has to be whole then.
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

  // Ends it, and destroys its graph. Was it whole?
  [[nodiscard]] bool end() {
    abi::CUgraph const graph = take();
    return graph != nullptr && detail::driver().cuGraphDestroy(graph) == abi::CUDA_SUCCESS;
  }

  // Ends it: its graph, which is the caller's; null if it was not whole.
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
