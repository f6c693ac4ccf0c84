// completion_test.cpp - the end of work: asked for, waited for, awaited, by the engine's news and by questions.
#include <weir/allow_sync.hpp>
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/completion.hpp>
#include <weir/context.hpp>
#include <weir/device.hpp>
#include <weir/fill.hpp>
#include <weir/graph.hpp>
#include <weir/graph_exec.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/reactor.hpp>
#include <weir/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/failing.hpp"
#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::failing_table;
using test::detached;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

// Once as it comes, and once with a table over the driver's, where points are events that are asked.
class Completion : public ::testing::TestWithParam<bool> {
 protected:
  Completion() {
    if (GetParam()) calls.emplace();
  }

  device gpu;
  std::optional<failing_table> calls;
  stream s{gpu};
};

INSTANTIATE_TEST_SUITE_P(Ways, Completion, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "Asked" : "AsItComes"; });

detached await(completion c, std::promise<errc>& answer) {
  const errc outcome = co_await c.outcome();
  answer.set_value(outcome);
}

TEST_P(Completion, OfNothingIsDone) {
  const completion none;
  EXPECT_TRUE(none.done());
  EXPECT_EQ(none.status(), errc::success);
  none.wait();
  EXPECT_TRUE(none.wait_for(0s));
  std::promise<errc> answer;
  await(none, answer);
  EXPECT_EQ(answer.get_future().get(), errc::success);
  std::promise<errc> called;
  none.then([&](errc outcome) { called.set_value(outcome); });
  EXPECT_EQ(called.get_future().get(), errc::success);
}

// Rule 83.
TEST_P(Completion, OfAnEmptyStreamIsDone) {
  const completion c = s.completion();
  c.wait();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(c.status(), errc::success);
}

TEST_P(Completion, ComesAfterTheWorkBefore) {
  pinned_buffer<unsigned char> host{1};
  host.data()[0] = 0;
  gate held{s};
  fill(s, host, static_cast<unsigned char>(7));
  const completion c = s.completion();
  EXPECT_FALSE(c.done());
  EXPECT_EQ(c.status(), errc::not_ready);
  EXPECT_FALSE(c.wait_for(0s));
  EXPECT_FALSE(c.wait_for(1ms));
  EXPECT_FALSE(c.wait_until(std::chrono::steady_clock::now() - 1h));
  held.open();
  c.wait();
  EXPECT_EQ(host.data()[0], 7);
  EXPECT_TRUE(c.done());
}

TEST_P(Completion, IsThePointAndNotTheStream) {
  const completion before = [&] {
    gate held{s};
    const completion c = s.completion();
    held.open();
    return c;
  }();
  gate held{s};
  const completion behind = s.completion();
  before.wait();
  EXPECT_TRUE(before.done());
  EXPECT_FALSE(behind.done());
  held.open();
  behind.wait();
}

TEST_P(Completion, ResumesACoroutine) {
  gate held{s};
  const completion c = s.completion();
  std::promise<errc> answer;
  std::future<errc> told = answer.get_future();
  await(c, answer);
  EXPECT_EQ(told.wait_for(0s), std::future_status::timeout);
  held.open();
  EXPECT_EQ(told.get(), errc::success);
  EXPECT_TRUE(c.done());
}

// Rule 87.
TEST_P(Completion, IsAwaitedByAnyNumber) {
  constexpr int many = 100;
  gate held{s};
  const completion c = s.completion();
  std::vector<std::promise<errc>> answers(2 * many);
  for (int i = 0; i < many; ++i) await(c, answers[i]);
  held.open();
  c.wait();
  for (int i = many; i < 2 * many; ++i) await(c, answers[i]);
  for (auto& answer : answers) EXPECT_EQ(answer.get_future().get(), errc::success);
}

TEST_P(Completion, InAnyOrder) {
  constexpr int many = 300;
  gate held{s};
  buffer<int> x{s, 1};
  std::vector<completion> points;
  for (int i = 0; i < many; ++i) {
    fill(s, x, i);
    points.push_back(s.completion());
  }
  std::vector<std::promise<errc>> answers(many);
  for (int i = many; i-- > 0;) await(points[i], answers[i]);
  held.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get_future().get(), errc::success);
  for (const completion& c : points) EXPECT_TRUE(c.done());
}

// Rule 86.
TEST_P(Completion, DroppedOnesAreNobodysConcern) {
  gate held{s};
  buffer<int> x{s, 1};
  for (int i = 0; i < 5000; ++i) {
    if (i % 500 == 0) fill(s, x, i);
    static_cast<void>(s.completion());
  }
  const completion last = s.completion();
  held.open();
  last.wait();
}

TEST_P(Completion, CallsAFunction) {
  gate held{s};
  std::promise<errc> with;
  std::promise<void> without;
  s.completion().then([&](errc outcome) { with.set_value(outcome); });
  s.completion().then([only = std::make_unique<int>(1), &without] { without.set_value(); });
  held.open();
  EXPECT_EQ(with.get_future().get(), errc::success);
  without.get_future().get();
}

TEST_P(Completion, AnExecutorSaysWhere) {
  std::promise<continuation> given;
  const auto later = [&](continuation c) { given.set_value(c); };
  bool resumed = false;
  gate held{s};
  const completion c = s.completion();
  [](completion awaited, auto executor, bool& went_on) -> detached {
    co_await awaited.on(executor);
    went_on = true;
  }(c, later, resumed);
  held.open();
  const continuation rest = given.get_future().get();
  EXPECT_FALSE(resumed);
  rest();
  EXPECT_TRUE(resumed);
}

TEST_P(Completion, AnExecutorThatThrowsLosesNothing) {
  gate held{s};
  std::promise<void> called;
  s.completion().then([](continuation) { throw std::runtime_error{"full"}; }, [&] { called.set_value(); });
  held.open();
  called.get_future().get();
}

// Rules 84 and 89: the stream's end does not end what was asked of it.
TEST_P(Completion, OutlivesItsStream) {
  std::optional<stream> t{gpu};
  auto held = std::make_unique<gate>(*t);
  const completion c = t->completion();
  std::promise<errc> answer;
  await(c, answer);
  t.reset();
  EXPECT_EQ(c.status(), errc::not_ready);
  held->open();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  c.wait();
}

TEST_P(Completion, TheLastOwnerMayGoInAContinuation) {
  auto t = std::make_unique<stream>(gpu);
  gate held{*t};
  const completion c = t->completion();
  std::promise<void> gone;
  c.then([owner = std::move(t), &gone]() mutable {
    owner.reset();
    gone.set_value();
  });
  held.open();
  gone.get_future().get();
  EXPECT_TRUE(c.done());
}

// A lane serves another stream afterwards; what it told of the one before stays true.
TEST_P(Completion, StreamsComeAndGo) {
  std::vector<completion> all;
  for (int i = 0; i < 200; ++i) {
    const stream t{gpu};
    buffer<int> x{t, 1};
    fill(t, x, i);
    all.push_back(t.completion());
    if (i % 3 == 0) all.back().wait();
    for (const completion& earlier : all) {
      if (&earlier != &all.back()) static_cast<void>(earlier.done());
    }
  }
  for (const completion& c : all) c.wait();
  for (const completion& c : all) EXPECT_TRUE(c.done());
}

TEST_P(Completion, ContinuationsMayWaitAndAwait) {
  stream t{gpu};
  gate first{s};
  const completion c = s.completion();
  std::promise<int> answer;
  [](completion awaited, stream_ref other, std::promise<int>& told) -> detached {
    co_await awaited;
    pinned_buffer<int> x{1};
    fill(other, x, 5);
    co_await other.completion();
    const int seen = x.data()[0];
    fill(other, x, 6);
    other.completion().wait();  // it blocks a thread of the reactor's, and still ends
    told.set_value(seen * 10 + x.data()[0]);
  }(c, t, answer);
  first.open();
  EXPECT_EQ(answer.get_future().get(), 56);
}

TEST_P(Completion, ManyThreadsWait) {
  constexpr int threads = 8;
  gate held{s};
  const completion c = s.completion();
  std::latch ready{threads};
  std::vector<std::jthread> waiting;
  std::atomic<int> done{0};
  for (int i = 0; i < threads; ++i) {
    waiting.emplace_back([&, i] {
      ready.count_down();
      if (i % 2 == 0) {
        c.wait();
      } else if (!c.wait_for(1h)) {
        return;
      }
      ++done;
    });
  }
  ready.wait();
  held.open();
  waiting.clear();
  EXPECT_EQ(done, threads);
}

TEST_P(Completion, DefaultStreamsHaveThemToo) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  for (const stream_ref t :
       {stream_ref::legacy(), stream_ref::per_thread(), stream_ref{static_cast<CUstream_st*>(nullptr)}}) {
    gate held{t};
    const completion c = t.completion();
    EXPECT_FALSE(c.done());
    held.open();
    c.wait();
    EXPECT_TRUE(c.done());
  }
  std::jthread{[&] {
    detail::driver().cuCtxSetCurrent(current.get());
    gate held{stream_ref::per_thread()};
    const completion c = stream_ref::per_thread().completion();
    EXPECT_FALSE(c.done());
    held.open();
    c.wait();
  }}.join();
}

TEST_P(Completion, ForeignStreamsHaveThemToo) {
  for (int i = 0; i < 100; ++i) {
    stream made{gpu};
    CUstream_st* const handle = made.release();
    gate held{handle};
    const completion c = stream_ref{handle}.completion();
    EXPECT_FALSE(c.done());
    if (i % 2 == 0) held.open();
    detail::driver().cuStreamDestroy_v2(handle);
    held.open();
    c.wait();
  }
}

// Rule 85.
TEST_P(Completion, IsRefusedWhereTheStreamCaptures) {
  begin_capture(s);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }), errc::stream_capture_unsupported);
  const graph none = end_capture(s);
  EXPECT_EQ(none.nodes().size(), 0U);
}

TEST_P(Completion, IsRefusedWhereTheCaptureIsForeign) {
  const test::foreign_capture capture{s};
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }), errc::stream_capture_unsupported);
}

TEST_P(Completion, IsRefusedOtherwiseWhereTheCaptureIsBroken) {
  begin_capture(s);
  static_cast<void>(detail::driver().cuStreamSynchronize(s.get()));  // breaks it
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }), errc::stream_capture_invalidated);
  EXPECT_THROW(static_cast<void>(end_capture(s)), error);
}

// It waits for blocking streams, which cannot be while one captures. The capture lives on.
TEST_P(Completion, OfTheLegacyStreamIsRefusedBesideABlockingCapture) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  CUstream_st* blocking = nullptr;
  ASSERT_EQ(detail::driver().cuStreamCreate(&blocking, abi::CU_STREAM_DEFAULT), abi::CUDA_SUCCESS);
  {
    test::foreign_capture capture{stream_ref{blocking}};
    EXPECT_EQ(result_of([&] { static_cast<void>(stream_ref::legacy().completion()); }), errc::stream_capture_implicit);
    EXPECT_TRUE(capture.end());
  }
  EXPECT_EQ(detail::driver().cuStreamDestroy_v2(blocking), abi::CUDA_SUCCESS);
}

TEST_P(Completion, HarmsNoCaptureOfOthers) {
  stream t{gpu};
  gate held{t};
  const completion c = t.completion();
  std::promise<errc> answer;
  begin_capture(s, capture_options{.mode = capture_mode::global});
  await(c, answer);
  EXPECT_FALSE(c.done());
  EXPECT_FALSE(c.wait_for(1ms));
  held.open();
  c.wait();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  static_cast<void>(end_capture(s));
}

TEST_P(Completion, OfAClosedStreamIsRefused) {
  stream t{gpu};
  t.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(t.completion()); }), errc::closed);
}

TEST_P(Completion, ThrowsWhatAHostFunctionHasThrown) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const completion c = s.completion();
  held.open();
  while (!c.done()) std::this_thread::yield();  // leaves it to who waits
  EXPECT_THROW(c.wait(), std::runtime_error);
  c.wait();  // once
}

// The thread that goes on is not the one whose default stream it is.
TEST_P(Completion, ThrowsWhatAHostFunctionOfADefaultStreamHasThrown) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  for (const stream_ref t : {stream_ref::legacy(), stream_ref::per_thread()}) {
    auto told = std::make_unique<std::promise<void>>();
    std::future<void> end = told->get_future();
    gate held{t};
    launch_host(t, [] { throw std::runtime_error{"thrown in a host function"}; });
    [](completion c, std::unique_ptr<std::promise<void>> to) -> detached {
      try {
        co_await c;
        to->set_value();
      } catch (...) {
        to->set_exception(std::current_exception());
      }
    }(t.completion(), std::move(told));
    held.open();
    EXPECT_THROW(end.get(), std::runtime_error);
  }
}

// Opens a gate once whoever waits has gone to sleep, most likely.
class late_opener {
 public:
  explicit late_opener(gate& held)
      : thread_{[&held] {
          const auto then = std::chrono::steady_clock::now() + 2ms;
          while (std::chrono::steady_clock::now() < then) std::this_thread::yield();
          held.open();
        }} {}

 private:
  std::jthread thread_;
};

// Nobody else drives then; whoever does may not rely on being woken.
TEST_P(Completion, AThreadThatDrivesMayWait) {
  const reactor_drive drive{gpu};
  {
    gate held{s};
    const completion c = s.completion();
    const late_opener opens{held};
    c.wait();
  }
  gate held{s};
  const completion c = s.completion();
  const late_opener opens{held};
  EXPECT_TRUE(c.wait_for(1h));
}

TEST_P(Completion, AnotherThreadMayWaitWhileNobodyPolls) {
  const reactor_drive drive{gpu};
  gate held{s};
  const completion c = s.completion();
  std::jthread waits{[&] { c.wait(); }};
  held.open();
  waits.join();
}

TEST_P(Completion, GuardsSeeTheWait) {
  gate held{s};
  const completion c = s.completion();
  const allow_sync none{false};
  EXPECT_EQ(result_of([&] { c.wait(); }), errc::not_permitted);
  EXPECT_FALSE(c.done());
  held.open();
}

TEST_P(Completion, IsNotWaitedForInAHostFunction) {
  gate held{s};
  stream t{gpu};
  const completion c = s.completion();
  errc waited = errc::success;
  errc asked = errc::success;
  launch_host(t, [&] {
    waited = result_of([&] { c.wait(); });
    asked = c.status();
  });
  t.sync();
  EXPECT_EQ(waited, errc::not_permitted);
  EXPECT_EQ(asked, errc::not_ready);
  held.open();
}

// A GPU is asked about the event, and a question about one that is captured would break the capture.
TEST_P(Completion, AnAwaitedEventIsNotRecordedInACapture) {
  event e{gpu};
  stream t{gpu};
  gate held{s};
  s.record(e);
  const completion c = e.completion();
  std::promise<errc> answer;
  std::future<errc> told = answer.get_future();
  await(c, answer);
  begin_capture(t);
  const errc recorded = result_of([&] { t.record(e); });
  if (GetParam()) {
    EXPECT_EQ(recorded, errc::illegal_state);
  }
  static_cast<void>(end_capture(t));
  held.open();
  EXPECT_EQ(told.get(), errc::success);
}

TEST_P(Completion, OfAnEvent) {
  event e{gpu};
  EXPECT_TRUE(e.completion().done());  // never recorded
  gate held{s};
  s.record(e);
  const completion c = e.completion();
  const completion again = e.completion();
  EXPECT_FALSE(c.done());
  std::promise<errc> answer;
  await(c, answer);
  held.open();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  again.wait();
}

TEST_P(Completion, OfAnEventThatEnds) {
  gate held{s};
  std::optional<event> e{s.record()};
  event closed = s.record();
  const completion c = e->completion();
  const completion d = closed.completion();
  std::promise<errc> answer;
  await(c, answer);
  e.reset();
  closed.close();
  EXPECT_EQ(d.status(), errc::not_ready);
  held.open();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  d.wait();
}

TEST_P(Completion, OfALaunch) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  const graph g = capture(s, [&](capture_scope& c) { fill(c.stream(), x, 3); });
  const graph_exec run = g.instantiate();
  run.upload_async(s).wait();
  gate held{s};
  const completion c = run.launch_async(s);
  EXPECT_FALSE(c.done());
  held.open();
  c.wait();
  EXPECT_EQ(x.data()[0], 3);
  stream captured{gpu};
  begin_capture(captured);
  EXPECT_EQ(result_of([&] { static_cast<void>(run.launch_async(captured)); }), errc::stream_capture_unsupported);
  static_cast<void>(end_capture(captured));
}

TEST_P(Completion, APollingLoopResumesHere) {
  reactor_drive drive{gpu};
  gate held{s};
  const completion c = s.completion();
  std::thread::id there;
  std::atomic<bool> resumed{false};
  [](completion awaited, std::thread::id& where, std::atomic<bool>& done) -> detached {
    co_await awaited;
    where = std::this_thread::get_id();
    done = true;
  }(c, there, resumed);
  EXPECT_EQ(drive.poll(), 0U);
  held.open();
  while (!resumed) drive.poll();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(there, std::this_thread::get_id());
}

TEST_P(Completion, FailureToRecordIsThrown) {
  if (!GetParam()) GTEST_SKIP() << "without a table over the driver's no call can be failed";
  calls->fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }), errc::out_of_memory);
  calls->fail(&driver_table::cuEventCreate, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result_of([&] { static_cast<void>(stream{gpu}.completion()); }), errc::success);
  s.completion().wait();
}

TEST_P(Completion, AQuestionThatFailsSettlesIt) {
  if (!GetParam()) GTEST_SKIP() << "without a table over the driver's no call can be failed";
  gate held{s};
  const completion c = s.completion();
  std::promise<errc> answer;
  calls->fail_from(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  await(c, answer);
  EXPECT_EQ(answer.get_future().get(), errc::launch_failed);
  EXPECT_EQ(c.status(), errc::launch_failed);
  EXPECT_EQ(result_of([&] { c.wait(); }), errc::launch_failed);
  held.open();
  s.sync();
  EXPECT_EQ(c.status(), errc::launch_failed);  // it keeps to its answer
}

}  // namespace
}  // namespace weir
