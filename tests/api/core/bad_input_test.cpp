// SPDX-License-Identifier: Apache-2.0
// bad_input_test.cpp - handles that refer to no object: each is an error with code, call, object
// and hint.
#include <weir/core/driver.hpp>
#include <weir/core/error.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::closure_probe;
using test::closure_stats;
using test::failure_of;
using test::result_of;

class BadInput : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

// A vendor's driver may crash on a destroyed handle, so only the embedded driver gets them.
class StaleHandle : public BadInput {
 protected:
  void SetUp() override {
    if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU's driver need not survive a stale handle";
    const context_scope current{gpu};
    abi::CUstream raw_stream = nullptr;
    abi::CUevent raw_event = nullptr;
    ASSERT_EQ(driver().cuStreamCreate(&raw_stream, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
    ASSERT_EQ(driver().cuEventCreate(&raw_event, abi::CU_EVENT_DEFAULT), abi::CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamDestroy_v2(raw_stream), abi::CUDA_SUCCESS);
    ASSERT_EQ(driver().cuEventDestroy_v2(raw_event), abi::CUDA_SUCCESS);
    gone = raw_stream;
    gone_event = raw_event;
  }

  CUstream_st* gone = nullptr;
  CUevent_st* gone_event = nullptr;
};

TEST_F(StaleHandle, EveryUseOfADestroyedStreamIsAnError) {
  const stream_ref stale{gone};
  pinned_buffer<std::uint32_t> word{1};
  const event e{gpu};
  EXPECT_EQ(result_of([&] { stale.sync(); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stale.done()); }), errc::invalid_handle);
  EXPECT_EQ(stale.status(), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stale.record()); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { stale.record(e); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { stale.wait(e); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { stale.wait(s); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { s.wait(stale); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stale.id()); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stale.priority()); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stale.device()); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { fill(stale, word, 1u); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { const buffer<int> x{stale, 4}; }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stream::adopt(gone)); }), errc::invalid_handle);
  s.sync();  // the valid stream still works
}

// Rule 81.
TEST_F(StaleHandle, AClosureForADestroyedStreamIsDestroyedOnTheCallingThread) {
  closure_stats f;
  EXPECT_EQ(
      result_of([&] { launch_host(stream_ref{gone}, [w = closure_probe{f}] { w.record_run(); }); }),
      errc::invalid_handle);
  EXPECT_EQ(f.runs, 0);
  EXPECT_EQ(f.destructions, 1);
  EXPECT_EQ(f.destroyed_by.load(), std::this_thread::get_id());
}

TEST_F(StaleHandle, EveryUseOfADestroyedEventIsAnError) {
  const event_ref stale{gone_event};
  EXPECT_EQ(result_of([&] { stale.sync(); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(stale.done()); }), errc::invalid_handle);
  EXPECT_EQ(stale.status(), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { s.record(stale); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { s.wait(stale); }), errc::invalid_handle);
  const timed_event_ref timed{gone_event};
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(timed, timed)); }), errc::invalid_handle);
}

// Rule 17: the kept event of a destroyed stream is not used for the stream that has its handle now.
TEST_F(StaleHandle, WaitingForADestroyedStreamIsAlwaysRefused) {
  for (int i = 0; i < 50; ++i) {
    CUstream_st* raw = nullptr;
    {
      const stream shortlived{gpu};
      s.wait(shortlived);
      raw = shortlived.get();
    }
    EXPECT_EQ(result_of([&] { s.wait(stream_ref{raw}); }), errc::invalid_handle);
  }
}

// If an object was destroyed directly through the driver, close() reports it and still closes the
// object.
TEST_F(StaleHandle, ClosingADestroyedStreamReportsItOnce) {
  stream owner{gpu};
  ASSERT_EQ(driver().cuStreamDestroy_v2(owner.get()), abi::CUDA_SUCCESS);
  const auto failure = failure_of([&] { owner.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_handle);
  EXPECT_STREQ(failure->call(), "cuStreamDestroy");
  EXPECT_TRUE(owner.closed());
  owner.close();
}

TEST_F(StaleHandle, TheErrorNamesTheCallTheObjectAndTheLine) {
  const auto failure = failure_of([&] { stream_ref{gone}.sync(); });
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->call(), "cuStreamSynchronize");
  EXPECT_EQ(failure->object().rfind("stream ", 0), 0u) << failure->object();
  EXPECT_NE(failure->hint().find("was destroyed"), std::string::npos) << failure->what();
  EXPECT_NE(std::string{failure->where().file_name()}.find("bad_input_test.cpp"),
            std::string::npos);
}

// Passes addresses that no driver returned.
TEST_F(StaleHandle, AnAddressThatIsNotAHandleIsAnError) {
  int local = 0;
  const stream_ref stack{reinterpret_cast<CUstream_st*>(&local)};
  EXPECT_EQ(result_of([&] { stack.sync(); }), errc::invalid_handle);
  EXPECT_EQ(event_ref{reinterpret_cast<CUevent_st*>(0x10)}.status(), errc::invalid_handle);
  EXPECT_EQ(event_ref{reinterpret_cast<CUevent_st*>(s.get())}.status(),
            errc::invalid_handle);  // no event
}

TEST_F(BadInput, NullEventsAreRefused) {
  const event_ref none{static_cast<CUevent_st*>(nullptr)};
  const timed_event_ref timed{static_cast<CUevent_st*>(nullptr)};
  EXPECT_EQ(none.status(), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { none.sync(); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { s.record(none); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { s.wait(none); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(timed, timed)); }), errc::invalid_handle);
}

TEST_F(BadInput, NullMemoryIsRefused) {
  buffer<int> x{s, 1};
  int* const none = nullptr;
  EXPECT_EQ(result_of([&] { copy(s, static_cast<const int*>(nullptr), x.data(), 1); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { copy(s, x.data(), none, 1); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { fill(s, none, 1, 5); }), errc::invalid_value);
  s.sync();
}

// Rule 14: without a current context a default stream belongs to no device, and every operation
// reports that.
TEST_F(BadInput, DefaultStreamsNeedACurrentContext) {
  std::thread{[&] {
    for (const stream_ref any : {stream_ref::legacy(), stream_ref::per_thread()}) {
      EXPECT_EQ(result_of([&] { static_cast<void>(any.record()); }), errc::invalid_context);
      EXPECT_EQ(result_of([&] { s.wait(any); }), errc::invalid_context);
      const auto failure = failure_of([&] { const buffer<int> x{any, 4}; });
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->result(), errc::invalid_context);
      EXPECT_NE(failure->object().find("default stream"), std::string::npos) << failure->what();
      EXPECT_NE(failure->hint().find("context_scope"), std::string::npos) << failure->what();
    }
  }}.join();
}

TEST_F(BadInput, AnEventWithoutAContextCannotBeAdopted) {
  const context_scope current{gpu};
  abi::CUevent raw = nullptr;
  ASSERT_EQ(driver().cuEventCreate(&raw, abi::CU_EVENT_DEFAULT), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(event::adopt(raw, context_ref{nullptr})); }),
            errc::invalid_context);
  EXPECT_EQ(driver().cuEventDestroy_v2(raw), abi::CUDA_SUCCESS)
      << "the caller still owns the event";
}

TEST(BadEnumerators, InvalidEnumeratorsAreRefused) {
  const device gpu;
  EXPECT_EQ(result_of([&] { stream(gpu, {.kind = static_cast<stream_kind>(7)}); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { memory_pool(gpu, {.memory = static_cast<pool_memory>(8)}); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([] { use_driver(static_cast<driver_kind>(9)); }), errc::invalid_value);
}

}  // namespace
}  // namespace weir
