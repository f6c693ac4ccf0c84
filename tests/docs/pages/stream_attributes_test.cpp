// SPDX-License-Identifier: Apache-2.0
// stream_attributes_test.cpp - the code that docs/guide/stream-attributes.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(StreamAttributesPage, AttributesAreSetAndCopied) {
  const weir::device gpu;
  const weir::stream s{gpu};
  // [stream-attributes-first]
  weir::stream_attributes attributes{s};  // borrows the stream
  attributes.set_sync_policy(weir::sync_policy::block);
  attributes.set_priority(gpu.priorities().greatest);

  weir::stream t =
      weir::make_stream(gpu, {}, {.sync_policy = weir::sync_policy::spin});  // set at creation
  weir::stream_attributes{t}.copy_from(s);                                   // all attributes
  // [/stream-attributes-first]
  EXPECT_EQ(weir::stream_attributes{t}.sync_policy(), weir::sync_policy::block);
  EXPECT_EQ(t.priority(), gpu.priorities().greatest);
}

}  // namespace
