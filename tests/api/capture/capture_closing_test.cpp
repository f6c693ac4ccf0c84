// SPDX-License-Identifier: Apache-2.0
// capture_closing_test.cpp - closing memory, imports and profiler scopes during a capture: the
// capture stays valid in every mode and on every thread.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/external_memory.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/ipc_buffer.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/profiler/profiler.hpp>
#include <weir/sync/external_semaphore.hpp>

#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"
#include "support/shared_allocation.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::foreign_capture;
using test::result_of;
using test::shared_allocation;

class CaptureClosing : public test::capture_fixture {
 protected:
  // Creates an object with make() and calls use(object) on a capturing thread, and on another
  // thread during a capture.
  template <class Make, class Use>
  void expect_capture_stays_valid(const Make& make, const Use& use) {
    for (const auto mode :
         {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
      SCOPED_TRACE(testing::Message() << "mode " << static_cast<unsigned>(mode));
      auto used_in_capture = make();
      auto used_on_other_thread = make();
      const graph g = capture(
          s,
          [&] {
            fill(s, x, 1);
            use(used_in_capture);
            EXPECT_EQ(capture_status_of(s), capture_status::active) << "on the capturing thread";
            std::thread{[&] { use(used_on_other_thread); }}.join();
            EXPECT_EQ(capture_status_of(s), capture_status::active) << "on another thread";
          },
          {.mode = mode});
      EXPECT_EQ(g.node_count(), 1u);
    }
  }
  // Like expect_capture_stays_valid(), for a capture that was started directly through the driver.
  template <class Make, class Use>
  void expect_external_capture_stays_valid(const Make& make, const Use& use) {
    for (const auto mode :
         {abi::CU_STREAM_CAPTURE_MODE_GLOBAL, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
      auto used_in_capture = make();
      auto used_on_other_thread = make();
      foreign_capture foreign{s, mode};
      use(used_in_capture);
      std::thread{[&] { use(used_on_other_thread); }}.join();
      EXPECT_TRUE(foreign.end());
    }
  }
  // Returns the memory with a pending use that its close has to wait for.
  template <class Memory>
  [[nodiscard]] Memory with_pending_use(Memory memory) const {
    gpu.sync();  // the use has been queued and finished
    fill(t, memory, 1);
    return memory;
  }
};

constexpr auto close_object = [](auto& what) {
  EXPECT_EQ(result_of([&] { what.close(); }), errc::success);
  EXPECT_TRUE(what.closed());
};

constexpr auto destroy_object = [](auto& what) {
  const auto moved = std::move(what);
  EXPECT_TRUE(what.closed());
};

TEST_F(CaptureClosing, ClosingHostMemoryBreaksNoCapture) {
  expect_capture_stays_valid([&] { return with_pending_use(pinned_buffer<int>{10}); },
                             close_object);
  expect_capture_stays_valid([&] { return with_pending_use(managed_buffer<int>{10}); },
                             close_object);
  expect_external_capture_stays_valid([&] { return with_pending_use(pinned_buffer<int>{10}); },
                                      close_object);
  expect_external_capture_stays_valid([&] { return with_pending_use(managed_buffer<int>{10}); },
                                      close_object);
}

TEST_F(CaptureClosing, ClosingABufferBreaksNoCapture) {
  const stream u{gpu};
  expect_capture_stays_valid([&] { return with_pending_use(buffer<int>{t, 10}); }, close_object);
  expect_capture_stays_valid([&] { return with_pending_use(buffer<int>{u, 10}); }, close_object);
  expect_capture_stays_valid([&] { return with_pending_use(buffer<int>{s, 10}); }, close_object);
  expect_external_capture_stays_valid(
      [&] {
        return with_pending_use(buffer<int>{u, 10});
      },
      close_object);
  expect_capture_stays_valid(
      [&] {
        return buffer<int>{u, 10};
      },
      [&](buffer<int>& what) { EXPECT_EQ(result_of([&] { what.close(t); }), errc::success); });
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(CaptureClosing, ClosingAnIpcBufferBreaksNoCapture) {
  expect_capture_stays_valid([&] { return with_pending_use(ipc_buffer<int>{10}); }, close_object);
  expect_external_capture_stays_valid([&] { return with_pending_use(ipc_buffer<int>{10}); },
                                      close_object);
}

TEST_F(CaptureClosing, ClosingImportedMemoryBreaksNoCapture) {
  const shared_allocation theirs{gpu};
  const auto import = [&] {
    return external_memory::import_fd(theirs.descriptor(), theirs.bytes(), gpu);
  };
  const auto map = [&] {
    return with_pending_use(mapped_buffer<int>{import(), 0, theirs.bytes() / sizeof(int)});
  };
  expect_capture_stays_valid(map, close_object);
  expect_external_capture_stays_valid(map, close_object);
  expect_capture_stays_valid(import, close_object);
  expect_external_capture_stays_valid(import, close_object);
  expect_capture_stays_valid(import, destroy_object);
  expect_external_capture_stays_valid(import, destroy_object);
}

TEST_F(CaptureClosing, ImportingMemoryBreaksNoCapture) {
  const shared_allocation theirs{gpu};
  const auto nothing = [] { return 0; };
  const auto import = [&](int) {
    EXPECT_EQ(result_of([&] {
                const external_memory memory =
                    external_memory::import_fd(theirs.descriptor(), theirs.bytes(), gpu);
                mapped_buffer<int> part{memory, 0, theirs.bytes() / sizeof(int)};
                part.close();
              }),
              errc::success);
  };
  expect_capture_stays_valid(nothing, import);
  expect_external_capture_stays_valid(nothing, import);
  if (!gpu.is_embedded()) return;  // on a GPU, only another interface can create a semaphore
  const shared_semaphore shared;
  const auto import_semaphore = [&](int) {
    EXPECT_EQ(result_of([&] {
                external_semaphore{gpu, shared}.close();
                const external_semaphore goes{gpu, shared};
              }),
              errc::success);
  };
  expect_capture_stays_valid(nothing, import_semaphore);
  expect_external_capture_stays_valid(nothing, import_semaphore);
}

TEST_F(CaptureClosing, CreatingAnIpcBufferBreaksNoCapture) {
  expect_capture_stays_valid(
      [] { return 0; },
      [](int) { EXPECT_EQ(result_of([] { ipc_buffer<int>{10}.close(); }), errc::success); });
}

TEST_F(CaptureClosing, StartingAProfilerBreaksNoCapture) {
  const auto nothing = [] { return 0; };
  const auto profile = [&](int) {
    EXPECT_EQ(result_of([&] {
                start_profiler(gpu);
                stop_profiler(gpu);
                const profiler_scope scope{gpu};
              }),
              errc::success);
  };
  expect_capture_stays_valid(nothing, profile);
  expect_external_capture_stays_valid(nothing, profile);
}

// The host cannot wait for captured work, so memory that a capture uses cannot be closed before the
// capture ends.
TEST_F(CaptureClosing, MemoryThatACaptureUsesCannotBeClosedBeforeTheCaptureEnds) {
  pinned_buffer<int> pinned{100};
  managed_buffer<int> managed{100};
  const auto expect_refused = [&](auto& memory, const char* call) {
    const auto failure = failure_of([&] { memory.close(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_unsupported);
    EXPECT_STREQ(failure->call(), call);
    EXPECT_TRUE(message_contains(*failure, "stays valid")) << failure->what();
    EXPECT_FALSE(memory.closed());
  };
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    const graph g = capture(s,
                            [&] {
                              copy(s, x, pinned);
                              fill(s, managed, 1);
                              expect_refused(pinned, "cuMemFreeHost");
                              expect_refused(managed, "cuMemFree");
                            },
                            {.mode = mode});
    EXPECT_EQ(g.node_count(), 2u);
  }
  {
    foreign_capture foreign{s};
    copy(s, x, pinned);
    expect_refused(pinned, "cuMemFreeHost");
    EXPECT_TRUE(foreign.end());
  }
  pinned.close();
  managed.close();
}

}  // namespace
}  // namespace weir
