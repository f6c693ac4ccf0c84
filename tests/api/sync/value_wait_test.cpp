// SPDX-License-Identifier: Apache-2.0
// value_wait_test.cpp - streams that wait for a word, and streams that write one.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/sync/value_wait.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::gate;
using test::result_of;
using test::text_of;

class ValueWait : public ::testing::Test {
 protected:
  template <class T>
  struct trial {
    T now;
    until condition;
    T value;
    bool goes_on;
  };

  // Each trial has its own stream. The blocked streams are checked after the others have finished,
  // although those were queued later.
  template <class T>
  void expect_of(const std::vector<trial<T>>& trials) {
    std::vector<wait_word<T>> words;
    std::vector<stream> streams;
    for (const trial<T>& t : trials) {
      words.emplace_back(t.now);
      streams.emplace_back(gpu);
      wait_value(streams.back(), words.back(), t.condition, t.value);
    }
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].goes_on) {
        EXPECT_TRUE(streams[i].sync_for(std::chrono::minutes{1})) << "trial " << i;
      }
    }
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (!trials[i].goes_on) {
        EXPECT_FALSE(streams[i].done()) << "trial " << i;
      }
      words[i].store(trials[i].condition == until::nor ? T{0} : trials[i].value);
    }
    for (const stream& each : streams) each.sync();
  }

  device gpu;
  stream s{gpu};
};

TEST_F(ValueWait, GreaterOrEqualIsCyclic) {
  expect_of<std::uint32_t>({
      {3, until::geq, 3, true},
      {2, until::geq, 3, false},
      {0xffff'ffff, until::geq, 0, false},
      {0x8000'0000, until::geq, 0, false},
      {0x7fff'ffff, until::geq, 0, true},
      {4, until::geq, 3, true},
      {0, until::geq, 0xffff'ffff, true},  // a counter that overflowed
  });
  expect_of<std::uint64_t>({
      {1, until::geq, std::uint64_t{1} << 32, false},
      {0, until::geq, ~std::uint64_t{0}, true},
  });
}

TEST_F(ValueWait, EveryComparisonFollowsItsDefinition) {
  expect_of<std::uint32_t>({
      {6, until::eq, 5, false},
      {5, until::bit_and, 2, false},
      {5, until::eq, 5, true},
      {6, until::bit_and, 2, true},
  });
  expect_of<std::uint64_t>({
      {(std::uint64_t{1} << 32) + 5, until::eq, 5, false},
      {std::uint64_t{1} << 50, until::bit_and, std::uint64_t{3} << 50, true},
  });
  if (!wait_word_support(gpu).nor) return;
  expect_of<std::uint32_t>(
      {{0xffff'fff0, until::nor, 15, false}, {0xffff'fff0, until::nor, 7, true}});
}

TEST_F(ValueWait, AWriteInOneStreamReleasesAWaitInAnother) {
  const stream t{gpu};
  wait_word<std::uint32_t> w;
  gate held{s};
  wait_value(t, w, until::geq, 1);
  const event behind = t.record();
  write_value(s, w, 1);
  EXPECT_FALSE(behind.done());
  held.open();
  behind.sync();
  EXPECT_EQ(w.load(), 1u);
}

// A wait that sees the value also sees the host's earlier writes.
TEST_F(ValueWait, HostWritesBeforeAStoreAreVisible) {
  pinned_buffer<std::uint32_t> from{1000};
  buffer<std::uint32_t> there{s, from.size()};
  pinned_buffer<std::uint32_t> back{from.size()};
  wait_word<std::uint32_t> filled;
  wait_word<std::uint32_t> taken;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    wait_value(s, filled, until::geq, round);
    copy(s, from, there);
    copy(s, there, back);
    write_value(s, taken, round);
    for (std::uint32_t& x : from) x = round;
    filled.store(round);
    while (taken.load() != round) std::this_thread::yield();
    ASSERT_EQ(back[0], round);
    ASSERT_EQ(back[999], round);
  }
}

TEST_F(ValueWait, PageableAndMisalignedMemoryIsRefused) {
  std::uint32_t pageable = 0;
  const wait_word_ref<std::uint32_t> w{&pageable};
  EXPECT_EQ(result_of([&] { wait_value(s, w, until::eq, 0); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { write_value(s, w, 1); }), errc::invalid_value);
  pinned_buffer<std::uint64_t> pinned{2};
  const auto misaligned =
      reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(pinned.data()) + 4);
  EXPECT_EQ(result_of([&] { write_value(s, wait_word_ref<std::uint64_t>{misaligned}, 1); }),
            errc::invalid_value);
  s.sync();
}

// The error names the stream, the word's address and, in weir's memory, the offset.
TEST_F(ValueWait, AnErrorNamesTheWord) {
  pinned_buffer<unsigned char> bytes{64};
  const auto expect = [&](const std::optional<error>& failure, const char* call,
                          const std::string& word, std::string_view reason) {
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_STREQ(failure->call(), call);
    EXPECT_EQ(failure->object(), to_string(s.ref()) + ", word at " + word);
    EXPECT_NE(failure->hint().find(reason), std::string::npos) << failure->what();
  };
  const wait_word_ref<std::uint32_t> crooked{reinterpret_cast<std::uint32_t*>(bytes.data() + 2)};
  const wait_word_ref<std::uint64_t> crooked64{reinterpret_cast<std::uint64_t*>(bytes.data() + 4)};
  expect(failure_of([&] { wait_value(s, crooked, until::eq, 0); }), "cuStreamWaitValue32",
         text_of(bytes.data() + 2), "not a multiple");
  expect(failure_of([&] { write_value(s, crooked64, 0); }), "cuStreamWriteValue64",
         text_of(bytes.data() + 4), "not a multiple");
  std::uint32_t pageable = 0;
  expect(failure_of([&] { write_value(s, wait_word_ref<std::uint32_t>{&pageable}, 1); }),
         "cuStreamWriteValue32", text_of(&pageable), "knows no memory at this address");
  buffer<std::uint64_t> x{s, 4};
  expect(failure_of([&] { wait_value(s, wait_word_ref<std::uint64_t>{x.data()}, until::eq, 1); }),
         "cuStreamWaitValue64", text_of(x.data()), "pools");
  pinned_buffer<std::uint32_t> pinned{16};
  expect(failure_of([&] {
           wait_value(s, wait_word_ref{pinned, 4}, static_cast<until>(4), 0);
         }),
         "cuStreamWaitValue32",
         text_of(pinned.data() + 4) + " (byte 16 of the memory at " + text_of(pinned.data()) + ")",
         "weir::until");
  s.sync();
}

TEST_F(ValueWait, AnErrorNamesManagedMemory) {
  if (gpu.attribute(device_attribute::managed_memory) == 0) GTEST_SKIP() << "no managed memory";
  managed_buffer<std::uint32_t> x{4};
  const auto failure =
      failure_of([&] { write_value(s, wait_word_ref<std::uint32_t>{x.data()}, 1); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->hint().find("managed memory cannot hold words"), std::string::npos)
      << failure->what();
}

// The error also names a feature that the device lacks.
TEST_F(ValueWait, AnErrorNamesTheUnsupportedFeature) {
  if (wait_word_support(gpu).flush) GTEST_SKIP() << "the device supports all features";
  wait_word<std::uint32_t> w;
  const auto failure = failure_of([&] { wait_value(s, w, until::eq, 0, {.flush = true}); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->object().find(", word at "), std::string::npos);
  EXPECT_NE(failure->hint().find("does not support flush"), std::string::npos) << failure->what();
}

TEST_F(ValueWait, AFlushNeedsASupportingDevice) {
  wait_word<std::uint32_t> w;
  const errc answer = result_of([&] { wait_value(s, w, until::eq, 0, {.flush = true}); });
  EXPECT_EQ(answer, wait_word_support(gpu).flush ? errc::success : errc::not_supported);
  s.sync();
}

TEST_F(ValueWait, ClosedStreamsAndHostFunctionsAreRefused) {
  wait_word<std::uint32_t> w;
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { wait_value(gone, w, until::eq, 0); }), errc::closed);
  EXPECT_EQ(result_of([&] { write_value(gone, w, 0); }), errc::closed);
  errc inside = errc::success;
  launch_host(s, [&] { inside = result_of([&] { write_value(s, w, 0); }); });
  s.sync();
  EXPECT_EQ(inside, errc::not_permitted);
}

// A captured wait or write is a node that runs at each launch.
TEST_F(ValueWait, CapturedWaitsAndWritesRunAtEachLaunch) {
  wait_word<std::uint32_t> w{1};
  wait_word<std::uint64_t> out;
  const context_scope current{gpu};
  const detail::driver_table& d = driver();
  ASSERT_EQ(d.cuStreamBeginCapture_v2(s.get(), abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            abi::CUDA_SUCCESS);
  wait_value(s, w, until::geq, 1);
  write_value(s, out, 3);
  abi::CUgraph graph = nullptr;
  ASSERT_EQ(d.cuStreamEndCapture(s.get(), &graph), abi::CUDA_SUCCESS);
  EXPECT_EQ(out.load(), 0u);
  abi::CUgraphExec exec = nullptr;
  ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), abi::CUDA_SUCCESS);
  ASSERT_EQ(d.cuGraphLaunch(exec, s.get()), abi::CUDA_SUCCESS);
  s.sync();
  EXPECT_EQ(out.load(), 3u);
  EXPECT_EQ(d.cuGraphExecDestroy(exec), abi::CUDA_SUCCESS);
  EXPECT_EQ(d.cuGraphDestroy(graph), abi::CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir
