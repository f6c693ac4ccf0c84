// SPDX-License-Identifier: Apache-2.0
// interop_test.cpp - streams of other libraries, which weir recognizes by their members alone.
//
// The types here have the members of cuda::stream_ref, rmm::cuda_stream_view and similar types.
// tests/interop/cccl_test.cpp uses the real ones.
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/shared_stream.hpp>
#include <weir/stream/stream.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;

namespace like_cuda {  // get(); implicit from the handle; deleted for 0 and null
class stream_ref {
 public:
  stream_ref(CUstream_st* handle) noexcept : handle_{handle} {}
  stream_ref(int) = delete;
  stream_ref(decltype(nullptr)) = delete;
  [[nodiscard]] CUstream_st* get() const noexcept { return handle_; }

 private:
  CUstream_st* handle_;
};
class stream : public stream_ref {  // an owner
 public:
  explicit stream(CUstream_st* handle) noexcept : stream_ref{handle} {}
  stream(const stream&) = delete;
};
}  // namespace like_cuda

namespace like_rmm {  // value(); converts to the handle
class cuda_stream_view {
 public:
  constexpr cuda_stream_view() noexcept = default;
  constexpr cuda_stream_view(CUstream_st* stream) noexcept : stream_{stream} {}
  constexpr cuda_stream_view(int) = delete;
  constexpr cuda_stream_view(decltype(nullptr)) = delete;
  [[nodiscard]] constexpr CUstream_st* value() const noexcept { return stream_; }
  constexpr operator CUstream_st*() const noexcept { return stream_; }

 private:
  CUstream_st* stream_ = nullptr;
};
}  // namespace like_rmm

struct like_nothing {
  [[nodiscard]] int get() const { return 0; }
};

// A type that returns a stream is a source. A type that also accepts one is a reference type.
static_assert(stream_source<like_cuda::stream_ref> && foreign_stream<like_cuda::stream_ref>);
static_assert(stream_source<like_cuda::stream>);
static_assert(stream_source<like_rmm::cuda_stream_view> &&
              foreign_stream<like_rmm::cuda_stream_view>);
static_assert(!stream_source<like_nothing> && !stream_source<std::string> && !stream_source<int>);
static_assert(!stream_source<stream> && !stream_source<stream_ref> &&
              !stream_source<shared_stream>);
// A smart pointer would own the handle that it is constructed from.
static_assert(!foreign_stream<std::shared_ptr<CUstream_st>> &&
              !foreign_stream<std::unique_ptr<CUstream_st>>);
static_assert(!std::is_convertible_v<stream, std::unique_ptr<CUstream_st>>);

// Conversions are implicit in both directions, from each of weir's stream types.
static_assert(std::is_convertible_v<like_cuda::stream_ref, stream_ref>);
static_assert(std::is_convertible_v<like_cuda::stream, stream_ref>);
static_assert(std::is_convertible_v<like_rmm::cuda_stream_view, stream_ref>);
static_assert(std::is_convertible_v<CUstream_st*, stream_ref> &&
              std::is_convertible_v<stream_ref, CUstream_st*>);
static_assert(std::is_convertible_v<stream_ref, like_cuda::stream_ref>);
static_assert(std::is_convertible_v<stream, like_cuda::stream_ref>);
static_assert(std::is_convertible_v<stream, like_rmm::cuda_stream_view>);
static_assert(std::is_convertible_v<shared_stream, like_rmm::cuda_stream_view>);
// No conversion creates an owner implicitly.
static_assert(!std::is_convertible_v<like_cuda::stream_ref, stream> &&
              !std::is_convertible_v<CUstream_st*, stream>);

CUstream_st* through_cuda(like_cuda::stream_ref s) { return s.get(); }
CUstream_st* through_rmm(like_rmm::cuda_stream_view s) { return s.value(); }
CUstream_st* through_weir(stream_ref s) { return s.get(); }
CUstream_st* through_runtime(CUstream_st* s) { return s; }  // for cudaStream_t, CUstream and <<<>>>

class Interop : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

TEST_F(Interop, StreamsConvertToForeignTypes) {
  EXPECT_EQ(through_cuda(s), s.get());
  EXPECT_EQ(through_cuda(s.ref()), s.get());
  EXPECT_EQ(through_rmm(s), s.get());
  EXPECT_EQ(through_rmm(s.ref()), s.get());
  EXPECT_EQ(through_runtime(s), s.get());
  EXPECT_EQ(through_runtime(s.ref()), s.get());
}

TEST_F(Interop, ForeignTypesConvertToStreams) {
  EXPECT_EQ(through_weir(like_cuda::stream_ref{s.get()}), s.get());
  EXPECT_EQ(through_weir(like_rmm::cuda_stream_view{s.get()}), s.get());
  const like_cuda::stream owner{s.get()};
  EXPECT_EQ(through_weir(owner), s.get());
  EXPECT_EQ(through_weir(s.get()), s.get());
}

// Rules 2 and 16: a round trip yields an equal stream and creates no owner.
TEST_F(Interop, ARoundTripYieldsTheSameStream) {
  {
    const like_rmm::cuda_stream_view view = s;
    const like_cuda::stream_ref ref = stream_ref{view};
    const stream_ref back = ref;
    EXPECT_EQ(back, s.ref());
    EXPECT_EQ(back.id(), s.id());
  }
  EXPECT_TRUE(s.done());
}

TEST_F(Interop, WorkOfAForeignStreamIsOrderedByWaits) {
  const like_cuda::stream_ref foreign{s.get()};
  const stream mine{gpu};
  pinned_buffer<std::uint32_t> word{1};
  word[0] = 0;
  gate held{foreign};
  fill(foreign, word, 3u);
  mine.wait(foreign);
  EXPECT_FALSE(mine.done());
  held.open();
  mine.sync();
  EXPECT_EQ(word[0], 3u);
}

// Default streams stay default streams: a null view is the legacy stream.
TEST_F(Interop, DefaultStreamsConvertToDefaultStreams) {
  EXPECT_EQ(stream_ref{like_rmm::cuda_stream_view{}}, stream_ref::legacy());
  EXPECT_TRUE(stream_ref{like_rmm::cuda_stream_view{}}.is_default());
  EXPECT_EQ(through_rmm(stream_ref::per_thread()), stream_ref::per_thread().get());
}

}  // namespace
}  // namespace weir
