// SPDX-License-Identifier: Apache-2.0
// handle_table_test.cpp - handles whose entries are recycled for later objects.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "embedded/model/core/handle_table.hpp"

namespace weir::embedded::model {
namespace {

struct thing {
  int value = 0;
};

class HandleTable : public testing::Test {
 protected:
  using tables = handle_table<thing, handle_kind::resource_desc>;

  // Returns a new table for each test. A table never releases its memory.
  static tables& fresh() {
    static auto& all = *new std::vector<std::unique_ptr<tables>>;
    return *all.emplace_back(std::make_unique<tables>());
  }

  tables& table = fresh();
};

TEST_F(HandleTable, AHandleIsFoundUntilItIsRetired) {
  thing* const made = table.acquire();
  void* const handle = table.publish(made);
  EXPECT_EQ(table.find(handle), made);
  EXPECT_EQ(table.handle_of(made), handle);
  EXPECT_TRUE(table.retire(made, handle));
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_EQ(table.handle_of(made), nullptr);
}

TEST_F(HandleTable, AHandleIsRetiredOnce) {
  thing* const made = table.acquire();
  const void* const handle = table.publish(made);
  EXPECT_TRUE(table.retire(made, handle));
  EXPECT_FALSE(table.retire(made, handle));
}

// A thread that retires an object late must not retire the next object in the recycled entry.
TEST_F(HandleTable, ALateRetireDoesNotAffectARecycledEntry) {
  thing* const made = table.acquire();
  const void* const first = table.publish(made);
  thing* const found = table.find(first);
  ASSERT_TRUE(table.retire(made, first));
  table.recycle(made);
  ASSERT_EQ(table.acquire(), made);
  const void* const second = table.publish(made);
  EXPECT_NE(second, first);
  EXPECT_FALSE(table.retire(found, first));
  EXPECT_EQ(table.find(second), made);
}

}  // namespace
}  // namespace weir::embedded::model
