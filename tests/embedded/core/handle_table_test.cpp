// SPDX-License-Identifier: Apache-2.0
// handle_table_test.cpp - handles whose entries are recycled for later objects.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "embedded/model/core/handle_table.hpp"

namespace weir::embedded::model {
namespace {

struct thing {
  int value = 0;
};

// Selects the values of new handles until the end of a scope.
class handle_values_scope {
 public:
  explicit handle_values_scope(handle_values values) noexcept
      : before_{std::exchange(configured_handle_values, values)} {}
  handle_values_scope(const handle_values_scope&) = delete;
  handle_values_scope& operator=(const handle_values_scope&) = delete;
  ~handle_values_scope() { configured_handle_values = before_; }

 private:
  handle_values before_;
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
  const handle_values_scope unique{handle_values::unique};
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

TEST_F(HandleTable, AReusedHandleIsTheOneRetiredLast) {
  const handle_values_scope reused{handle_values::reused};
  thing* const a = table.acquire();
  thing* const b = table.acquire();
  const void* const handle_of_a = table.publish(a);
  const void* const handle_of_b = table.publish(b);
  EXPECT_NE(handle_of_a, handle_of_b);
  for (const auto& [object, handle] : {std::pair{a, handle_of_a}, std::pair{b, handle_of_b}}) {
    ASSERT_TRUE(table.retire(object, handle));
    table.recycle(object);
  }
  EXPECT_EQ(table.publish(table.acquire()), handle_of_b);
  EXPECT_EQ(table.publish(table.acquire()), handle_of_a);
}

// The driver may keep such a handle, so no later object may get it.
TEST_F(HandleTable, AUniqueHandleIsNeverReused) {
  const handle_values_scope reused{handle_values::reused};
  thing* const made = table.acquire();
  const void* const unique = table.publish_unique(made);
  ASSERT_TRUE(table.retire(made, unique));
  table.recycle(made);
  ASSERT_EQ(table.acquire(), made);
  EXPECT_NE(table.publish(made), unique);
  EXPECT_FALSE(table.retire(made, unique));
}

}  // namespace
}  // namespace weir::embedded::model
