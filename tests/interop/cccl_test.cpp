// SPDX-License-Identifier: Apache-2.0
// cccl_test.cpp - conversions between weir's streams and CCCL's cuda::stream_ref. No header of weir
// includes CCCL.
#include <gtest/gtest.h>

#include <cuda/stream_ref>
#include <type_traits>
#include <weir/stream/stream.hpp>

namespace {

CUstream_st* taken_by_cccl(cuda::stream_ref s) { return s.get(); }
CUstream_st* taken_by_weir(weir::stream_ref s) { return s.get(); }

static_assert(std::is_convertible_v<const weir::stream&, cuda::stream_ref>);
static_assert(std::is_convertible_v<weir::stream_ref, cuda::stream_ref>);
static_assert(std::is_convertible_v<cuda::stream_ref, weir::stream_ref>);

TEST(Cccl, AWeirStreamConvertsToACudaStreamRef) {
  const weir::stream s{weir::device{}};
  EXPECT_EQ(taken_by_cccl(s), s.get());
  EXPECT_EQ(taken_by_cccl(weir::stream_ref{s}), s.get());
  const cuda::stream_ref initialised = s;
  const cuda::stream_ref braced{s};
  EXPECT_EQ(initialised.get(), s.get());
  EXPECT_EQ(braced.get(), s.get());
}

TEST(Cccl, ACudaStreamRefConvertsToAWeirStreamRef) {
  const weir::stream s{weir::device{}};
  const cuda::stream_ref theirs{s.get()};
  EXPECT_EQ(taken_by_weir(theirs), s.get());
  weir::stream_ref ours = theirs;
  EXPECT_EQ(ours, weir::stream_ref{s});
  EXPECT_TRUE(ours.done());
}

TEST(Cccl, AssignmentBetweenStreamRefsKeepsTheStream) {
  const weir::stream s{weir::device{}};
  const weir::stream t{weir::device{}};
  cuda::stream_ref theirs = s;
  theirs = t;
  EXPECT_EQ(theirs.get(), t.get());
  weir::stream_ref ours = s;
  ours = theirs;
  EXPECT_EQ(ours.get(), t.get());
}

}  // namespace
