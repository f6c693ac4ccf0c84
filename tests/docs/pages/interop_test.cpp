// SPDX-License-Identifier: Apache-2.0
// interop_test.cpp - the code that docs/guide/interop.md shows.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <weir/interop/stream_protocols.hpp>
#include <weir/weir.hpp>

namespace {

// Like cuda::stream_ref and rmm::cuda_stream_view: made from a handle and returns it.
class their_stream {
 public:
  explicit their_stream(CUstream_st* handle) : handle_{handle} {}
  [[nodiscard]] CUstream_st* get() const { return handle_; }

 private:
  CUstream_st* handle_;
};

CUstream_st* c_function(CUstream_st* stream) { return stream; }
CUstream_st* their_function(their_stream stream) { return stream.get(); }
CUstream_st* our_function(weir::stream_ref stream) { return stream; }

TEST(InteropPage, HandlesConvertInBothDirections) {
  const weir::device gpu;
  // [interop-handles]
  weir::stream s{gpu};
  CUstream_st* raw = c_function(s);  // out: as CUstream or cudaStream_t
  their_function(s);                 // out: as the stream of a library
  our_function(raw);                 // in: a handle, borrowed
  our_function(their_stream{raw});   // in: the stream of a library
  // [/interop-handles]
  EXPECT_EQ(raw, s.get());
  EXPECT_EQ(their_function(s), raw);
}

TEST(InteropPage, OwnershipIsReleasedAdoptedAndShared) {
  const weir::device gpu;
  weir::stream s{gpu};
  const auto pool = std::make_shared<int>(0);
  // [interop-ownership]
  CUstream_st* given = s.release();                 // weir no longer destroys it
  weir::stream taken = weir::stream::adopt(given);  // weir destroys it again
  weir::shared_stream kept{taken.get(), pool};      // borrowed, and keeps its owner alive
  // [/interop-ownership]
  EXPECT_TRUE(s.closed());
  EXPECT_EQ(kept.get(), taken.get());
}

// An object that a language passes to a binding.
struct foreign_object {
  weir::protocol_stream pair;
};
weir::protocol_stream pair_of(const foreign_object& thing) { return thing.pair; }

TEST(InteropPage, StreamsPassThroughPythonProtocols) {
  const weir::device gpu;
  const weir::stream s{gpu}, theirs{gpu};
  const foreign_object thing{weir::stream_to_protocol(theirs)};
  const std::optional<long long> argument = weir::stream_to_dlpack(theirs);
  // [interop-bindings]
  // A Python stream, from what its __cuda_stream__() returned:
  const weir::stream_ref foreign =
      weir::stream_from_protocol(weir::protocol_answer::pair, pair_of(thing), "Stream");

  // In __dlpack__(stream=argument): s has produced the data, and the consumer's stream waits for
  // it.
  if (const auto consumer = weir::stream_from_dlpack(argument)) consumer->wait(s);
  // [/interop-bindings]
  EXPECT_EQ(foreign, theirs);
  theirs.sync();
}

}  // namespace
