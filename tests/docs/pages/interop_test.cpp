// What docs/interop.md shows.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <weir/weir.hpp>

namespace {

// As cuda::stream_ref and rmm::cuda_stream_view: made from a handle, gives it back.
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

TEST(InteropPage, HandlesOutAndIn) {
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

TEST(InteropPage, Ownership) {
  const weir::device gpu;
  weir::stream s{gpu};
  const auto pool = std::make_shared<int>(0);
  // [interop-ownership]
  CUstream_st* given = s.release();                 // no longer weir's to destroy
  weir::stream taken = weir::stream::adopt(given);  // weir's again
  weir::kept_stream kept{taken.get(), pool};        // borrowed, with a share in its owner
  // [/interop-ownership]
  EXPECT_TRUE(s.closed());
  EXPECT_EQ(kept.get(), taken.get());
}

}  // namespace
