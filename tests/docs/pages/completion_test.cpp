// What docs/completion.md shows.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <weir/weir.hpp>

namespace {

TEST(CompletionPage, Ways) {
  using namespace std::chrono_literals;
  const weir::device gpu;
  const weir::stream s{gpu};
  // [completion-ways]
  weir::completion c = s.completion();

  bool done = c.done();           // looks; throws what the work failed with
  weir::errc how = c.status();    // the same as a code: success, not_ready, or the failure
  c.wait();                       // blocks; throws what the work failed with
  bool in_time = c.wait_for(5s);  // false: the time passed first, and the work goes on
  // [/completion-ways]
  EXPECT_TRUE(in_time && c.done());
  static_cast<void>(done);
  static_cast<void>(how);
}

TEST(CompletionPage, Then) {
  const weir::device gpu;
  const weir::stream s{gpu};
  std::promise<weir::errc> finished;
  std::promise<void> also;
  const auto pool = [](weir::continuation c) { c(); };
  // [completion-then]
  s.completion().then([&](weir::errc outcome) { finished.set_value(outcome); });
  s.completion().then(pool, [&] { also.set_value(); });  // where an executor says
  // [/completion-then]
  EXPECT_EQ(finished.get_future().get(), weir::errc::success);
  also.get_future().get();
}

TEST(CompletionPage, Polling) {
  const weir::device gpu;
  const weir::stream s{gpu};
  std::atomic<bool> resumed{false};
  s.completion().then([&] { resumed = true; });
  // [completion-poll]
  weir::reactor_drive drive{gpu};  // the reactor's thread stands back
  while (!resumed) drive.poll();   // resumes what is due, on this thread
  // [/completion-poll]
}

}  // namespace
