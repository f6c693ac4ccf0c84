// SPDX-License-Identifier: Apache-2.0
// address_map_test.cpp - lookup of allocations by address, including a thread's outdated cache
// entries.
#include "embedded/model/memory/address_map.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace weir::embedded::model {

namespace {

// These addresses are outside any address space, so the records collide with no others.
constexpr std::uintptr_t unmapped_base = std::uintptr_t{0x5a} << 56;

allocation& add_live(std::uintptr_t base, std::size_t bytes) {
  allocation& record = address_map::instance().add(base, bytes);
  record.kind = memory_kind::device;
  record.open(bytes);
  return record;
}

void end(allocation& record) {
  EXPECT_NE(record.close(), 0u);
  address_map::instance().remove(record);
}

TEST(AddressMap, AnAllocationIsFoundByItsOwnAddressesOnly) {
  allocation& record = add_live(unmapped_base + 4096, 100);
  EXPECT_EQ(address_map::find(unmapped_base + 4095), nullptr);
  EXPECT_EQ(address_map::find(unmapped_base + 4096), &record);
  EXPECT_EQ(address_map::find(unmapped_base + 4195), &record);
  EXPECT_EQ(address_map::find(unmapped_base + 4196), nullptr);
  end(record);
  EXPECT_EQ(address_map::find(unmapped_base + 4096), nullptr);
}

// A thread's cached entry is invalid once another allocation has that address.
TEST(AddressMap, ACachedEndedAllocationDoesNotHideTheNextAllocation) {
  allocation& first = add_live(unmapped_base, 1024);
  ASSERT_EQ(address_map::find(unmapped_base + 512), &first);
  end(first);
  allocation& elsewhere = add_live(unmapped_base + 65536, 1024);  // uses the first one's record
  EXPECT_EQ(address_map::find(unmapped_base + 512), nullptr);
  allocation& second = add_live(unmapped_base + 512, 1024);
  EXPECT_EQ(address_map::find(unmapped_base + 512), &second);
  EXPECT_EQ(address_map::find(unmapped_base + 65536), &elsewhere);
  end(elsewhere);
  end(second);
}

TEST(AddressMap, AnAllocationIsClosedOnceAndByItsKindOnly) {
  allocation& record = add_live(unmapped_base, 64);
  address_map& map = address_map::instance();
  EXPECT_EQ(map.close(unmapped_base + 1, memory_kind::device), nullptr);
  EXPECT_EQ(map.close(unmapped_base, memory_kind::pinned), nullptr);
  EXPECT_EQ(map.close(unmapped_base, memory_kind::device), &record);
  EXPECT_EQ(map.close(unmapped_base, memory_kind::device), nullptr);
  map.remove(record);
}

// cuMemHostUnregister waits for work between close() and remove(). The program may unmap the memory
// meanwhile, and the driver may get new memory at its addresses.
TEST(AddressMap, ARecordThatIsBeingRemovedIsNotReused) {
  address_map& map = address_map::instance();
  allocation& closed = add_live(unmapped_base, 64);
  allocation& failed = add_live(unmapped_base + 4096, 64);
  ASSERT_EQ(map.close(unmapped_base, memory_kind::device), &closed);
  ASSERT_EQ(map.close(unmapped_base + 4096, memory_kind::device), &failed);
  allocation& next = add_live(unmapped_base, 64);
  allocation& other = add_live(unmapped_base + 4096, 64);
  EXPECT_NE(&next, &closed);
  EXPECT_NE(&other, &failed);
  map.remove(closed);
  map.reopen(failed, 64);
  EXPECT_EQ(address_map::find(unmapped_base), &next);
  EXPECT_EQ(address_map::find(unmapped_base + 4096), &other);
  end(next);
  end(other);
}

TEST(AddressMap, AnOverlappingRegistrationIsRefusedWithTheKindInTheWay) {
  address_map& map = address_map::instance();
  allocation& record = add_live(unmapped_base + 4096, 4096);
  memory_kind in_the_way = memory_kind::pooled;
  for (const std::uintptr_t from :
       {unmapped_base + 4000, unmapped_base + 4096, unmapped_base + 8191}) {
    in_the_way = memory_kind::pooled;
    EXPECT_EQ(map.add_registration(from, 200, in_the_way), nullptr);
    EXPECT_EQ(in_the_way, memory_kind::device);
  }
  EXPECT_EQ(map.add_registration(unmapped_base, 8192 * 2, in_the_way), nullptr);
  for (const std::uintptr_t from : {unmapped_base + 4096 - 200, unmapped_base + 8192}) {
    allocation* beside = map.add_registration(from, 200, in_the_way);
    ASSERT_NE(beside, nullptr);
    map.remove(*beside);
  }
  end(record);
}

// A program that frees registered memory leaves a stale registration; the driver may later allocate
// that address itself.
TEST(AddressMap, ANewAllocationEndsStaleRegistrations) {
  address_map& map = address_map::instance();
  memory_kind in_the_way{};
  allocation* stale = map.add_registration(unmapped_base + 100, 1000, in_the_way);
  ASSERT_NE(stale, nullptr);
  stale->open(1000);
  ASSERT_EQ(address_map::find(unmapped_base + 600), stale);
  allocation& ours = add_live(unmapped_base + 512, 4096);
  EXPECT_EQ(address_map::find(unmapped_base + 600), &ours);
  EXPECT_EQ(address_map::find(unmapped_base + 100), nullptr);
  end(ours);
}

TEST(AddressMap, AllocationIdsAreUnique) {
  allocation& first = add_live(unmapped_base, 64);
  const unsigned long long id = first.id;
  end(first);
  allocation& second = add_live(unmapped_base, 64);
  EXPECT_NE(second.id, id);
  end(second);
}

// After any additions and removals, the map answers like an ordered list of intervals.
RC_GTEST_PROP(AddressMap, TheMapBehavesLikeAListOfIntervals, ()) {
  constexpr std::uintptr_t cells = 64;
  constexpr std::uintptr_t cell = 512;
  std::map<std::uintptr_t, allocation*> live;
  const auto holder = [&](std::uintptr_t address) -> allocation* {
    auto next = live.upper_bound(address);
    if (next == live.begin()) return nullptr;
    --next;
    return address - next->first < next->second->bytes.load() ? next->second : nullptr;
  };
  const auto steps =
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::arbitrary<std::uint32_t>());
  for (const std::uint32_t step : steps) {
    const std::uintptr_t base = unmapped_base + step % cells * cell;
    const std::size_t bytes = 1 + step / cells % (3 * cell);
    if (const auto here = live.find(base); here != live.end()) {
      end(*here->second);
      live.erase(here);
    } else {
      const auto next = live.lower_bound(base);
      if (holder(base) != nullptr || (next != live.end() && next->first < base + bytes)) continue;
      live[base] = &add_live(base, bytes);
    }
    for (std::uintptr_t probe = unmapped_base; probe < unmapped_base + (cells + 4) * cell;
         probe += 61 + step % 97) {
      RC_ASSERT(address_map::find(probe) == holder(probe));
    }
  }
  for (const auto& [base, record] : live) end(*record);
}

TEST(AddressMap, ThreadsFindTheirAllocationsConcurrently) {
  const auto work = [](std::uintptr_t region) {
    for (int i = 0; i < 2000; ++i) {
      allocation& record = add_live(region + static_cast<std::uintptr_t>(i % 7) * 4096, 1024);
      EXPECT_EQ(address_map::find(record.start() + 1000), &record);
      EXPECT_EQ(address_map::find(record.start() + 1024), nullptr);
      end(record);
    }
  };
  std::vector<std::thread> threads;
  for (std::uintptr_t i = 0; i < 4; ++i) threads.emplace_back(work, unmapped_base + (i << 20));
  for (std::thread& thread : threads) thread.join();
}

// A thread reads a cached record from one of its lives only: neither allocation contains the
// address, but a mix of one's base and the other's size would.
TEST(AddressMap, AReusedRecordIsReadConsistently) {
  constexpr std::uintptr_t asked = unmapped_base + (std::uintptr_t{1} << 30);
  allocation record;
  std::atomic<bool> over{false};
  std::thread lives{[&] {
    for (int round = 0; round < 2'000'000; ++round) {
      record.move_to(asked + 4096);
      record.open(1 << 20);
      (void)record.close();
      record.move_to(asked - 512);
      record.open(512);
      (void)record.close();
    }
    over.store(true);
  }};
  std::uint64_t wrong = 0;
  while (!over.load(std::memory_order_relaxed)) wrong += record.holds(asked) ? 1 : 0;
  lives.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace

}  // namespace weir::embedded::model
