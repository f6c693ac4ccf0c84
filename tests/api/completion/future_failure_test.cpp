// SPDX-License-Identifier: Apache-2.0
// future_failure_test.cpp - futures that are refused, and values that stay in place because an
// operation throws.
#include <weir/capture/capture.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::gate;
using test::result_of;

class FutureFailure : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, FutureFailure, ::testing::Values(false, true), test::name_of_mode);

// Rule 85.
TEST_P(FutureFailure, EnqueueAsyncIsRefusedBeforeTheCallIfTheStreamCaptures) {
  bool called = false;
  begin_capture(s);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.enqueue([&] { called = true; })); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(s.enqueue([&] {
                called = true;
                return 1;
              }));
            }),
            errc::stream_capture_unsupported);
  const graph none = end_capture(s);
  EXPECT_EQ(none.nodes().size(), 0U);
  EXPECT_FALSE(called);
}

TEST_P(FutureFailure, EnqueueAsyncIsRefusedAsInvalidatedIfTheCaptureIsBroken) {
  bool called = false;
  begin_capture(s);
  static_cast<void>(detail::driver().cuStreamSynchronize(s.get()));  // breaks the capture
  EXPECT_EQ(result_of([&] { static_cast<void>(s.enqueue([&] { called = true; })); }),
            errc::stream_capture_invalidated);
  EXPECT_FALSE(called);
  EXPECT_THROW(static_cast<void>(end_capture(s)), error);
}

TEST_P(FutureFailure, ACaptureThatTheFunctionBeginsContinues) {
  EXPECT_EQ(result_of([&] { static_cast<void>(s.enqueue([&] { begin_capture(s); })); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(end_capture(s).nodes().size(), 0U);
}

TEST_P(FutureFailure, EnqueueAsyncOnAClosedStreamIsRefused) {
  stream t{gpu};
  t.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(t.enqueue([] { return 1; })); }), errc::closed);
}

TEST_P(FutureFailure, EnqueueAsyncRethrowsAnExceptionOfTheFunction) {
  EXPECT_THROW(static_cast<void>(s.enqueue([]() -> int { throw std::runtime_error{"no"}; })),
               std::runtime_error);
  EXPECT_THROW(static_cast<void>(s.enqueue([] { throw std::runtime_error{"no"}; })),
               std::runtime_error);
}

TEST_P(FutureFailure, GetRethrowsAHostFunctionExceptionOnce) {
  future<int> f = s.enqueue([](stream_ref on) {
    launch_host(on, [] { throw std::runtime_error{"thrown in a host function"}; });
    return 5;
  });
  EXPECT_THROW(static_cast<void>(f.get()), std::runtime_error);
  EXPECT_EQ(f.get(), 5);
}

TEST_P(FutureFailure, AFutureKeepsItsValueIfAwaitingItThrows) {
  future<int> f = s.enqueue([](stream_ref on) {
    launch_host(on, [] { throw std::runtime_error{"thrown in a host function"}; });
    return 5;
  });
  const auto awaits = [](future<int>& from) -> task<int> { co_return co_await std::move(from); };
  EXPECT_THROW(static_cast<void>(sync_wait(awaits(f))), std::runtime_error);
  ASSERT_TRUE(f.valid());
  EXPECT_EQ(sync_wait(awaits(f)), 5);
  EXPECT_FALSE(f.valid());
}

// Its move constructor throws until that is allowed.
struct throwing_move {
  throwing_move() = default;
  throwing_move(throwing_move&& from) : move_allowed{from.move_allowed} {
    if (!*move_allowed) throw std::runtime_error{"thrown by a move"};
  }
  std::shared_ptr<bool> move_allowed = std::make_shared<bool>(false);
};

TEST_P(FutureFailure, AFutureKeepsItsValueIfMovingItThrows) {
  future<throwing_move> f = s.enqueue([] { return throwing_move{}; });
  const std::shared_ptr<bool> may = f.get().move_allowed;
  EXPECT_THROW(static_cast<void>(std::move(f).get()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(sync_wait(std::move(f))), std::runtime_error);
  ASSERT_TRUE(f.valid());
  *may = true;
  EXPECT_EQ(std::move(f).get().move_allowed, may);
  EXPECT_FALSE(f.valid());
}

// If the completion cannot be recorded, the value is still destroyed only after the work.
TEST(FutureFault, EnqueueAsyncWaitsForTheWorkIfItCannotRecordACompletion) {
  const device gpu;
  const stream s{gpu};
  bool done_first = false;
  fault_table calls;
  calls.fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  struct asks {
    ~asks() {
      if (ended != nullptr) *ended = stream_ref{on}.status() == errc::success;
    }
    bool* ended;
    stream_ref on;
  };
  gate held{s};
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_EQ(result_of([&] {
              static_cast<void>(s.enqueue([&](stream_ref on) { return asks{&done_first, on}; }));
            }),
            errc::out_of_memory);
  EXPECT_TRUE(done_first);
}

}  // namespace
}  // namespace weir
