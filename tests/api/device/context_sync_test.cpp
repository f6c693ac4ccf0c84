// SPDX-License-Identifier: Apache-2.0
// context_sync_test.cpp - waits for a whole context beside captures of other threads.
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/capture/capture_fixture.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using test::result_of;

constexpr capture_mode all_modes[] = {capture_mode::global, capture_mode::own_thread,
                                      capture_mode::relaxed};

class ContextSync : public test::capture_fixture {
 protected:
  // Synchronizes the device in another thread. Opens the gate once that thread waits.
  static errc sync_in_other_thread(test::gate& held) {
    const test::gate_opener open_when_asked{held, &detail::driver_table::cuEventSynchronize};
    return sync_in_other_thread();
  }
  static errc sync_in_other_thread() {
    errc answer = errc::unknown;
    std::thread{[&] { answer = result_of([] { device{}.sync(); }); }}.join();
    return answer;
  }
  // Sets the word to 1 in the stream, behind the gate.
  void set_word(stream_ref stream) { fill(stream, host.data(), 1, 1); }
};

TEST_F(ContextSync, ASyncBesideACaptureWaitsForTheOtherStreams) {
  for (const capture_mode mode : all_modes) {
    host[0] = 0;
    test::gate held{t};
    set_word(t);
    begin_capture(s, {.mode = mode});
    fill(s, x, 1);
    EXPECT_EQ(sync_in_other_thread(held), errc::success);
    EXPECT_EQ(host[0], 1);
    EXPECT_EQ(end_capture(s).node_count(), 1u);
    t.sync();
  }
}

TEST_F(ContextSync, ASyncWaitsForTheWorkThatACapturingStreamWasGivenBefore) {
  for (const capture_mode mode : all_modes) {
    host[0] = 0;
    test::gate held{s};
    set_word(s);
    begin_capture(s, {.mode = mode});
    EXPECT_EQ(sync_in_other_thread(held), errc::success);
    EXPECT_EQ(host[0], 1);
    EXPECT_EQ(end_capture(s).node_count(), 0u);
    s.sync();
  }
}

TEST_F(ContextSync, ASyncWaitsForTheWorkThatAJoinedStreamWasGivenBefore) {
  for (const bool by_event : {false, true}) {
    host[0] = 0;
    test::gate held{t};
    set_word(t);
    const graph g = capture(s, [&] {
      by_event ? t.wait(s.record()) : t.wait(s);
      EXPECT_EQ(sync_in_other_thread(held), errc::success);
      EXPECT_EQ(host[0], 1);
      s.wait(t);
    });
    t.sync();
  }
}

TEST_F(ContextSync, ASyncBesideACaptureWaitsForTheLegacyStream) {
  const context_scope current{gpu};
  host[0] = 0;
  test::gate held{stream_ref::legacy()};
  set_word(stream_ref::legacy());
  begin_capture(s);
  EXPECT_EQ(sync_in_other_thread(held), errc::success);
  EXPECT_EQ(host[0], 1);
  static_cast<void>(end_capture(s));
}

// A record in the legacy stream would break the capture.
TEST_F(ContextSync, ASyncIsRefusedWhileABlockingStreamCaptures) {
  const stream blocking{gpu, {.kind = stream_kind::blocking}};
  begin_capture(blocking);
  fill(blocking, x, 1);
  EXPECT_EQ(sync_in_other_thread(), errc::stream_capture_unsupported);
  EXPECT_EQ(end_capture(blocking).node_count(), 1u);
  EXPECT_EQ(sync_in_other_thread(), errc::success);
}

// GPUs' drivers crash in cuCtxSynchronize beside captures.
TEST_F(ContextSync, ASyncDoesNotCallTheSynchronizationOfTheDriver) {
  const detail::fault_table calls;
  gpu.sync();
  const graph g = capture(s, [&] { EXPECT_EQ(sync_in_other_thread(), errc::success); });
  EXPECT_EQ(calls.count(&detail::driver_table::cuCtxSynchronize), 0);
}

// Repeats calls of other threads that wait for a device beside captures in every mode.
TEST_F(ContextSync, NoWaitOfAnotherThreadBreaksACapture) {
  constexpr int captures = 300;
  std::atomic<bool> stop{false};
  std::atomic<int> refused{0};
  const auto repeat = [&](const std::function<void()>& call) {
    return std::thread{[&stop, &refused, call] {
      while (!stop)
        if (result_of(call) != errc::success) ++refused;
    }};
  };
  const stream other{gpu};
  const event mark = other.record();
  int broken = 0;
  std::vector<std::thread> beside;
  beside.push_back(repeat([this] { gpu.sync(); }));
  beside.push_back(repeat([&] { other.sync(); }));
  beside.push_back(repeat([&] { mark.sync(); }));
  beside.push_back(repeat([&] { static_cast<void>(other.done()); }));
  beside.push_back(repeat([&] {
    buffer<int> memory{other, 16};
    fill(other, memory, 1);
  }));
  beside.push_back(repeat([this] { memory_pool{gpu}.close(); }));
  for (const capture_mode mode : all_modes) {
    for (int i = 0; i < captures; ++i) {
      const errc answer =
          result_of([&] { static_cast<void>(capture(s, [&] { fill(s, x, i); }, {.mode = mode})); });
      if (answer != errc::success) ++broken;
    }
  }
  stop = true;
  for (std::thread& each : beside) each.join();
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace weir
