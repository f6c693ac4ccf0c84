// SPDX-License-Identifier: Apache-2.0
// ipc_event_test.cpp - events that two processes share.
#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/event/ipc_event.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/peer.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::gate;
using test::result_of;

// Rule 49: a shared event has no timing, so it does not convert to timed_event_ref.
static_assert(!std::is_convertible_v<ipc_event, timed_event_ref>);
static_assert(std::is_convertible_v<ipc_event, event_ref>);
static_assert(!std::is_copy_constructible_v<ipc_event> &&
              std::is_nothrow_move_constructible_v<ipc_event>);

// Creates an event, sends its handle and obeys commands. 'r' records the event behind a gate, 'o'
// opens the gate, 's' waits for the event, 'd' returns whether it is done. Each command is
// answered.
WEIR_PEER_ROLE(event_maker) {
  const stream s{device{}};
  const ipc_event made{device{}};
  test.send(made.handle());
  gate held{s};  // only now: a GPU's driver creates such an event on an idle device only
  for (char ask = 0; test.try_receive(ask);) {
    bool answer = true;
    if (ask == 'r') s.record(made);
    if (ask == 'o') held.open();
    if (ask == 's') made.sync();
    if (ask == 'd') answer = made.done();
    test.send(answer);
  }
}

class IpcEvent : public ::testing::Test {
 protected:
  bool ask(char what) const {
    maker_.send(what);
    return maker_.receive<bool>();
  }

  device gpu_;
  test::peer maker_{"event_maker"};
  ipc_event_handle handle_ = maker_.receive<ipc_event_handle>();
  ipc_event opened_ = ipc_event::open(handle_, gpu_);
};

TEST_F(IpcEvent, AnIpcEventThatWasNeverRecordedIsDone) {
  EXPECT_TRUE(opened_.done());
  opened_.sync();
  EXPECT_TRUE(opened_.opened());
  EXPECT_EQ(opened_.device(), gpu_);
}

TEST_F(IpcEvent, StreamsAndHostWaitForARecordOfTheOtherProcess) {
  const stream s{gpu_};
  ask('r');
  EXPECT_FALSE(opened_.done());
  s.wait(opened_);
  EXPECT_FALSE(s.done());
  EXPECT_FALSE(opened_.sync_for(std::chrono::milliseconds{1}));
  ask('o');
  s.sync();
  opened_.sync();
  EXPECT_TRUE(opened_.done());
}

TEST_F(IpcEvent, AnIpcEventCanBeRecordedByEitherProcess) {
  const stream s{gpu_};
  gate held{s};
  s.record(opened_);
  EXPECT_FALSE(ask('d'));
  held.open();
  EXPECT_TRUE(ask('s'));
  EXPECT_TRUE(ask('d'));
}

// Rule 35: a wait binds to the record that exists when the wait is queued.
TEST_F(IpcEvent, ALaterRecordDoesNotExtendAnEarlierWait) {
  const stream s{gpu_};
  s.wait(opened_);
  ask('r');
  s.sync();
  EXPECT_FALSE(opened_.done());
  ask('o');
  opened_.sync();
}

TEST_F(IpcEvent, ACompletionWaitsForARecordOfTheOtherProcess) {
  ask('r');
  const completion c = opened_.completion();
  EXPECT_FALSE(c.done());
  EXPECT_FALSE(c.wait_for(std::chrono::milliseconds{1}));
  ask('o');
  c.wait();
  EXPECT_TRUE(c.done());
}

// A queue that has served a stream still has the stream's position in the engine.
TEST_F(IpcEvent, ACompletionWaitsAfterCompletionsOfAStream) {
  {
    const stream s{gpu_};
    gate held{s};
    const completion c = s.completion();
    held.open();
    c.wait();
  }
  ask('r');
  const completion c = opened_.completion();
  EXPECT_FALSE(c.done());
  ask('o');
  sync_wait(c);
  EXPECT_TRUE(c.done());
}

test::detached await_ipc_event(completion awaited, std::atomic<bool>& resumed) {
  co_await awaited;
  resumed = true;
}

TEST_F(IpcEvent, ACoroutineAwaitsARecordOfTheOtherProcess) {
  ask('r');
  std::atomic<bool> resumed{false};
  await_ipc_event(opened_.completion(), resumed);
  EXPECT_FALSE(resumed);
  ask('o');
  while (!resumed) std::this_thread::yield();
}

TEST_F(IpcEvent, AnIpcEventCanBeDestroyedWhileItsCompletionIsPending) {
  ask('r');
  const completion c = opened_.completion();
  opened_.close();
  EXPECT_FALSE(c.done());
  ask('o');
  c.wait();
}

TEST_F(IpcEvent, OnlyTheCreatingProcessCanExportAnIpcEvent) {
  EXPECT_EQ(result_of([&] { static_cast<void>(opened_.handle()); }), errc::invalid_handle);
}

TEST_F(IpcEvent, AClosedIpcEventReportsClosed) {
  ipc_event other = std::move(opened_);
  EXPECT_TRUE(opened_.closed());
  other.close();
  other.close();
  EXPECT_TRUE(other.closed());
  EXPECT_EQ(result_of([&] { static_cast<void>(other.done()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(other.handle()); }), errc::closed);
  opened_ = ipc_event::open(handle_, gpu_);
}

TEST(IpcEvents, AnIpcEventCannotBeOpenedInTheProcessThatCreatedIt) {
  const ipc_event made{device{}, {.blocking_sync = true}};
  EXPECT_TRUE(made.blocking_sync());
  EXPECT_FALSE(made.opened());
  const ipc_event_handle name = made.handle();
  const ipc_event_handle again = made.handle();
  EXPECT_EQ(std::memcmp(&name, &again, sizeof name), 0);
  EXPECT_EQ(result_of([&] { static_cast<void>(ipc_event::open(name, device{})); }),
            errc::invalid_context);
}

TEST(IpcEvents, AnInvalidIpcEventHandleIsRefused) {
  ipc_event_handle nonsense;
  std::memset(nonsense.bytes, 0x5a, sizeof nonsense.bytes);
  const auto failure = failure_of([&] { static_cast<void>(ipc_event::open(nonsense, device{})); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::map_failed);
  EXPECT_STREQ(failure->call(), "cuIpcOpenEventHandle");
  EXPECT_NE(failure->hint().find("still open in the process that created it"), std::string::npos)
      << failure->what();
}

}  // namespace
}  // namespace weir
