// SPDX-License-Identifier: Apache-2.0
// value_batch_test.cpp - waits for words and writes of words that are submitted together.
#include <weir/core/deferred.hpp>
#include <weir/core/to_string.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/sync/value_batch.hpp>
#include <weir/sync/value_wait.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;
using test::text_of;

class ValueBatch : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

TEST_F(ValueBatch, ABatchRunsInOrderAndMakesOneDriverCall) {
  wait_word<std::uint32_t> a;
  wait_word<std::uint64_t> b;
  wait_word<std::uint32_t> c;
  value_batch batch;
  batch.wait(a, until::geq, 1)
      .write(b, 5)
      .barrier()
      .wait(b, until::eq, 5)
      .write(c, 6)
      .device_barrier();
  EXPECT_EQ(batch.size(), 6u);
  {
    const fault_table calls;
    batch.submit(s);
    EXPECT_EQ(calls.count_all(), 1);
  }
  EXPECT_EQ(b.load(), 0u);
  EXPECT_EQ(c.load(), 0u);
  a.store(1);
  s.sync();
  EXPECT_EQ(b.load(), 5u);
  EXPECT_EQ(c.load(), 6u);
}

TEST_F(ValueBatch, ABatchIsSubmittedRepeatedly) {
  wait_word<std::uint32_t> a;
  wait_word<std::uint32_t> b;
  const stream t{gpu};
  value_batch batch;
  for (std::uint32_t round = 1; round <= 50; ++round) {
    batch.clear();
    batch.wait(a, until::geq, round).write(b, round);
    batch.submit(t);
    batch.submit(t);
    write_value(s, a, round);
    t.sync();
    ASSERT_EQ(b.load(), round);
  }
}

TEST_F(ValueBatch, AnEmptyBatchDoesNothing) {
  const fault_table calls;
  value_batch{}.submit(s);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(ValueBatch, ABatchIsAsLongAsTheDriverAllows) {
  wait_word<std::uint32_t> w;
  value_batch batch;
  batch.reserve(value_batch::max_size + 1);
  for (std::uint32_t i = 1; i <= value_batch::max_size; ++i) batch.write(w, i);
  batch.submit(s);
  s.sync();
  EXPECT_EQ(w.load(), 255u);
  batch.write(w, 256);
  const auto failure = failure_of([&] { batch.submit(s); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("255"), std::string::npos);
}

// Either all steps are queued or none.
TEST_F(ValueBatch, ARefusedStepRefusesTheBatch) {
  wait_word<std::uint32_t> w;
  std::uint32_t pageable = 0;
  value_batch batch;
  batch.write(w, 1).write(wait_word_ref<std::uint32_t>{&pageable}, 1);
  EXPECT_EQ(result_of([&] { batch.submit(s); }), errc::invalid_value);
  s.sync();
  EXPECT_EQ(w.load(), 0u);
}

// The driver does not report which step is invalid, so weir finds it.
TEST_F(ValueBatch, AnErrorNamesTheInvalidStep) {
  wait_word<std::uint32_t> w;
  pinned_buffer<std::uint64_t> counters{4};
  std::uint32_t pageable = 0;
  value_batch batch;
  batch.write(w, 1).barrier().wait(wait_word_ref{counters, 2}, until::eq, 0);
  const auto fails = [&](std::string_view object, std::string_view reason) {
    const auto failure = failure_of([&] { batch.submit(s); });
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->call(), "cuStreamBatchMemOp");
    EXPECT_EQ(failure->object().find(to_string(s.ref()) + ", "), 0u) << failure->what();
    EXPECT_NE(failure->object().find(object), std::string::npos) << failure->what();
    EXPECT_NE(failure->hint().find(reason), std::string::npos) << failure->what();
  };
  batch.write(wait_word_ref<std::uint32_t>{&pageable}, 1).write(w, 2);
  fails("step 3 (of 0 to 4), a write to the 32-bit word at " + text_of(&pageable),
        "knows no memory at this address");
  batch.clear();
  batch.write(w, 1).wait(wait_word_ref{counters, 2}, static_cast<until>(4), 0);
  fails("step 1 (of 0 to 1), a wait for the 64-bit word at " + text_of(counters.data() + 2) +
            " (byte 16 of the memory at " + text_of(counters.data()) + ")",
        "weir::until");
  if (!wait_word_support(gpu).flush) {
    batch.clear();
    batch.write(w, 1).flush();
    fails("step 1 (of 0 to 1), a flush", "does not support flush");
  }
  s.sync();
  EXPECT_EQ(w.load(), 0u);
}

// In a capture the driver checks less, so a step that it accepts is not named.
TEST_F(ValueBatch, AnErrorInACaptureNamesTheMisalignedStep) {
  pinned_buffer<unsigned char> bytes{64};
  std::uint32_t pageable = 0;
  value_batch batch;
  batch.write(wait_word_ref<std::uint32_t>{&pageable}, 1);
  batch.write(wait_word_ref<std::uint32_t>{reinterpret_cast<std::uint32_t*>(bytes.data() + 1)}, 1);
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL};
  const auto failure = failure_of([&] { batch.submit(s); });
  static_cast<void>(foreign.end());  // the driver decides whether the capture is still valid
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->object().find("step 1 (of 0 to 1)"), std::string::npos) << failure->what();
}

TEST_F(ValueBatch, AFlushNeedsASupportingDevice) {
  value_batch batch;
  batch.flush();
  EXPECT_EQ(result_of([&] { batch.submit(s); }),
            wait_word_support(gpu).flush ? errc::success : errc::not_supported);
}

TEST_F(ValueBatch, AWordInABatchRemembersTheStream) {
  drain_deferred();
  wait_word<std::uint32_t> w;
  gate held{s};
  value_batch batch;
  batch.write(w, 1);
  batch.submit(s);
  w.close();
  EXPECT_EQ(deferred_count(), 1u);
  held.open();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(ValueBatch, AClosedWordIsRefusedWhenItIsAdded) {
  wait_word<std::uint32_t> w;
  w.close();
  value_batch batch;
  EXPECT_EQ(result_of([&] { batch.write(w, 1); }), errc::closed);
  EXPECT_EQ(result_of([&] { batch.wait(w, until::eq, 1); }), errc::closed);
  EXPECT_TRUE(batch.empty());
}

}  // namespace
}  // namespace weir
