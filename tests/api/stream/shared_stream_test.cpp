// SPDX-License-Identifier: Apache-2.0
// shared_stream_test.cpp - a borrowed stream together with the object that keeps it alive.
#include <weir/stream/shared_stream.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;

class KeptStream : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

// Rule 4.
TEST_F(KeptStream, TheOwnerLivesUntilTheLastCopyIsGone) {
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = owner;
  std::optional<shared_stream> first{std::in_place, s.ref(), std::move(owner)};
  std::optional<shared_stream> second = first;
  first.reset();
  EXPECT_FALSE(watched.expired());
  second.reset();
  EXPECT_TRUE(watched.expired());
}

struct foreign_owner {  // an owner of another library, which is copied and not shared
  std::shared_ptr<int> resource;
};

TEST_F(KeptStream, AnyTypeOfOwnerIsCopiedOrMovedIn) {
  foreign_owner owner{std::make_shared<int>(0)};
  {
    const shared_stream kept{s, owner};
    EXPECT_EQ(owner.resource.use_count(), 2);
  }
  EXPECT_EQ(owner.resource.use_count(), 1);
  const shared_stream moved{s, std::move(owner)};
  EXPECT_EQ(moved.get(), s.get());
}

// Rules 2 and 3.
TEST_F(KeptStream, AKeptStreamNeverDestroysTheStream) {
  const fault_table calls;
  {
    const shared_stream first{s, std::make_shared<int>(0)};
    const shared_stream second{s, std::make_shared<int>(0)};
    EXPECT_EQ(first, second);
  }
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
  EXPECT_TRUE(s.done());
}

TEST_F(KeptStream, AWeirStreamAsOwnerEndsWithTheLastCopy) {
  const fault_table calls;
  {
    const shared_stream kept{stream{gpu}};
    std::vector<shared_stream> copies(4, kept);
    copies.clear();
    EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
    test::gate held{kept};
    EXPECT_FALSE(kept->done());
    held.open();
    kept->sync();
  }
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

TEST_F(KeptStream, AKeptStreamWorksInEveryStreamOperation) {
  const shared_stream kept{s, std::make_shared<int>(0)};
  EXPECT_EQ(kept.ref(), s.ref());
  EXPECT_EQ(stream_ref{kept}.id(), s.id());
  CUstream_st* const raw = kept;
  EXPECT_EQ(raw, s.get());
  const stream other{gpu};
  other.wait(kept);
  const event e = kept->record();
  e.sync();
}

}  // namespace
}  // namespace weir
