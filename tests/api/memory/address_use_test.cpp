// SPDX-License-Identifier: Apache-2.0
// address_use_test.cpp - operations that get a span or a pointer find the buffer by its address:
// its memory is freed after them.
#include <weir/core/deferred.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/managed_memory.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/sync/value_batch.hpp>
#include <weir/sync/value_wait.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::gate;

using words = buffer<std::uint32_t>;

// An operation that uses a part of a buffer and gets only its address.
struct operation {
  const char* name;
  std::function<void(stream_ref stream, words& x, pinned_buffer<std::uint32_t>& host)> run;
};
void PrintTo(const operation& o, std::ostream* os) { *os << o.name; }

class AddressUse : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;

  static bool is_held(stream_ref stream) { return !stream.sync_for(std::chrono::milliseconds{5}); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  pinned_buffer<std::uint32_t> host{size};
};

class AddressUseOf : public AddressUse, public ::testing::WithParamInterface<operation> {};

TEST_P(AddressUseOf, TheFreeWaitsForTheOperation) {
  std::optional<words> x{std::in_place, s, size};
  fill(s, *x, 7u);
  t.wait(s);
  gate held{t};
  GetParam().run(t, *x, host);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
  t.sync();
}

std::span<std::uint32_t> middle_of(words& x) { return {x.data() + 100, 50}; }

INSTANTIATE_TEST_SUITE_P(
    , AddressUseOf,
    ::testing::Values(
        operation{"CopyFromSpan",
                  [](stream_ref other, words& x, auto& host) { copy(other, middle_of(x), host); }},
        operation{"CopyToSpan", [](stream_ref other, words& x,
                                   auto& host) { copy(other, host.first(50), middle_of(x)); }},
        operation{"CopyOfAddresses",
                  [](stream_ref other, words& x, auto& host) {
                    copy(other, x.data() + 5, host.data(), 10);
                  }},
        operation{"FillOfSpan",
                  [](stream_ref other, words& x, auto&) { fill(other, middle_of(x), 5u); }},
        operation{"FillOfAddresses",
                  [](stream_ref other, words& x, auto&) { fill(other, x.data() + 8, 10, 5u); }},
        operation{"CopyBatch",
                  [](stream_ref other, words& x, auto& host) {
                    copy_batch batch;
                    batch.add(middle_of(x), host.first(50));
                    batch.enqueue(other);
                  }}),
    [](const auto& each) { return std::string{each.param.name}; });

// One call registers the stream; later operations find that out without a lock.
TEST_F(AddressUse, UsesOnTheBuffersOwnStreamAreNotTracked) {
  const fault_table calls;
  {
    words x{s, size};
    fill(s, middle_of(x), 1u);
    copy(s, middle_of(x), host);
  }
  EXPECT_EQ(calls.count(&driver_table::cuStreamWaitEvent), 0);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  s.sync();
}

TEST_F(AddressUse, AnAddressBehindABufferIsNoUse) {
  std::optional<words> x{std::in_place, s, size};
  t.wait(s);
  gate held{t};
  copy(t, host.first(0), std::span<std::uint32_t>{x->data(), std::size_t{0}});
  fill(t, host.last(1), 1u);
  x.reset();
  s.sync();  // blocks for ever if it waits for t
  held.open();
  t.sync();
}

TEST_F(AddressUse, ABufferThatWasMovedIsFound) {
  words original{s, size};
  std::uint32_t* const address = original.data();
  std::optional<words> x{std::move(original)};
  words assigned{s, 1};
  assigned = std::move(*x);
  t.wait(s);
  gate held{t};
  fill(t, address, 10, 5u);
  assigned.close();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

// The buffer's owner may be another thread than the one that uses it.
TEST_F(AddressUse, ABufferOfAnotherThreadIsFound) {
  std::optional<words> x;
  std::thread{[&] { x.emplace(s, size); }}.join();
  t.wait(s);
  gate held{t};
  fill(t, middle_of(*x), 5u);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

TEST_F(AddressUse, PinnedMemoryIsFoundByItsAddress) {
  words x{s, size};
  t.wait(s);
  const fault_table calls;
  gate held{t};
  {
    pinned_buffer<std::uint32_t> source{size};
    copy(t, std::span{source}.first(10), x.first(10));
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  held.open();
  t.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
}

TEST_F(AddressUse, WordsAreFoundByTheirAddress) {
  const fault_table calls;
  gate held{t};
  {
    pinned_buffer<std::uint32_t> single{size};
    pinned_buffer<std::uint32_t> batched{size};
    write_value(t, wait_word_ref<std::uint32_t>{single.data() + 3}, 1u);
    value_batch batch;
    batch.write(wait_word_ref<std::uint32_t>{batched.data() + 3}, 1u);
    batch.submit(t);
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  held.open();
  t.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 2);
}

TEST_F(AddressUse, AReleasedBufferIsNotFound) {
  words x{s, size};
  std::uint32_t* const address = x.release();
  words y = words::adopt(s, address, size);
  t.wait(s);
  gate held{t};
  fill(t, address, 10, 5u);
  y.close();
  EXPECT_TRUE(is_held(s)) << "the new owner is found";
  held.open();
  s.sync();
}

}  // namespace
}  // namespace weir
