// SPDX-License-Identifier: Apache-2.0
// allocation_index_test.cpp - the live allocations are found by every address in them.
#include "api/memory/allocation_index.hpp"

#include <weir/detail/tracked_memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

// An allocation that exists only in an index.
struct allocation : tracked_memory {
  allocation() = default;
  allocation_entries entries;
};

void* pointer_to(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

class AllocationIndex : public ::testing::Test {
 protected:
  const std::unique_ptr<allocation_index> index = std::make_unique<allocation_index>();
};

TEST_F(AllocationIndex, EveryAddressOfAnAllocationIsFoundAndNoOther) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{4097},
                                  std::size_t{1} << 20, (std::size_t{1} << 34) + 512}) {
    allocation a;
    const std::uintptr_t begin = 0x7F00'1234'5600;
    index->insert(a.entries, pointer_to(begin), bytes, a);
    EXPECT_EQ(index->find(pointer_to(begin - 1)), nullptr) << bytes;
    EXPECT_EQ(index->find(pointer_to(begin)), &a) << bytes;
    EXPECT_EQ(index->find(pointer_to(begin + bytes / 2)), &a) << bytes;
    EXPECT_EQ(index->find(pointer_to(begin + bytes - 1)), &a) << bytes;
    EXPECT_EQ(index->find(pointer_to(begin + bytes)), nullptr) << bytes;
    index->remove(a.entries);
    EXPECT_EQ(index->find(pointer_to(begin)), nullptr) << bytes;
    index->remove(a.entries);  // does nothing
  }
}

TEST_F(AllocationIndex, AnEmptyAllocationIsNotFound) {
  allocation a;
  index->insert(a.entries, pointer_to(4096), 0, a);
  index->insert(a.entries, nullptr, 16, a);
  EXPECT_EQ(index->find(pointer_to(4096)), nullptr);
  EXPECT_EQ(index->find(nullptr), nullptr);
}

RC_GTEST_PROP(AllocationIndexModel, TheIndexAgreesWithAMap,
              (const std::vector<std::pair<unsigned char, unsigned short>>& steps)) {
  const auto index = std::make_unique<allocation_index>();
  std::map<std::uintptr_t, std::pair<std::size_t, std::unique_ptr<allocation>>> model;
  const auto expected = [&](std::uintptr_t address) -> const tracked_memory* {
    auto after = model.upper_bound(address);
    if (after == model.begin()) return nullptr;
    const auto& [begin, found] = *--after;
    return address - begin < found.first ? found.second.get() : nullptr;
  };
  for (const auto& [scale, place] : steps) {
    // Neighbouring places at distances that grow with the scale, so that allocations of all levels
    // lie between each other.
    const std::uintptr_t begin = (std::uintptr_t{1} << 46) + (std::uintptr_t{place} << 12);
    const std::size_t bytes = (std::size_t{1} << (scale % 26)) + scale;
    const auto here = model.find(begin);
    const auto next = model.upper_bound(begin);
    if (here != model.end()) {
      index->remove(here->second.second->entries);
      model.erase(here);
    } else if (expected(begin) == nullptr &&
               (next == model.end() || next->first >= begin + bytes)) {
      auto added = std::make_unique<allocation>();
      index->insert(added->entries, pointer_to(begin), bytes, *added);
      model.emplace(begin, std::pair{bytes, std::move(added)});
    }
    for (const std::uintptr_t address : {begin, begin + bytes - 1, begin + bytes, begin - 1}) {
      RC_ASSERT(index->find(pointer_to(address)) == expected(address));
    }
  }
  for (auto& [begin, each] : model) index->remove(each.second->entries);
}

// Another thread adds and removes neighbours in the same bucket meanwhile.
TEST_F(AllocationIndex, AnAllocationIsFoundWhileItsNeighboursChange) {
  constexpr std::uintptr_t region = std::uintptr_t{1} << 40;
  allocation lasting;
  index->insert(lasting.entries, pointer_to(region), 256, lasting);
  std::atomic<bool> ends{false};
  std::thread changer{[&] {
    std::vector<std::unique_ptr<allocation>> neighbours;
    for (int i = 0; i < 8; ++i) neighbours.push_back(std::make_unique<allocation>());
    while (!ends) {
      for (std::size_t i = 0; i < neighbours.size(); ++i)
        index->insert(neighbours[i]->entries, pointer_to(region + 256 * (i + 1)), 256,
                      *neighbours[i]);
      for (const auto& each : neighbours) index->remove(each->entries);
    }
  }};
  int lost = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (index->find(pointer_to(region + 255)) != &lasting) ++lost;
    if (index->find(pointer_to(region - 1)) != nullptr) ++lost;
  }
  ends = true;
  changer.join();
  EXPECT_EQ(lost, 0);
  index->remove(lasting.entries);
}

}  // namespace
}  // namespace weir::detail
