// Lesson 9: weir beside other CUDA code: handles in and out.
#include <cstdio>
#include <weir/weir.hpp>

namespace {

// Stands for a function of a CUDA library. Its stream is the driver's own type, which is also
// cudaStream_t.
CUstream_st* library_call(CUstream_st* stream) { return stream; }

// A stream type of another library, as cuda::stream_ref and rmm::cuda_stream_view: made from a
// handle, gives it back.
class their_stream {
 public:
  explicit their_stream(CUstream_st* handle) : handle_{handle} {}
  [[nodiscard]] CUstream_st* get() const { return handle_; }

 private:
  CUstream_st* handle_;
};

// Code of ours that takes any of them.
unsigned long long id_of(weir::stream_ref stream) { return stream.id(); }

}  // namespace

int main() {
  weir::stream s{weir::device{}};
  const unsigned long long id = s.id();

  // Out: a weir stream goes where a handle goes, in kernel<<<grid, block, 0, s>>>() too.
  CUstream_st* const raw = library_call(s);

  // In, borrowed: a handle, or another library's stream, becomes a stream_ref by itself. weir
  // destroys neither.
  const their_stream theirs{raw};
  if (id_of(raw) != id || id_of(theirs) != id) return 1;

  // And back: weir's streams become the other library's.
  const their_stream again = static_cast<their_stream>(s);
  if (again.get() != raw) return 1;

  // Given away: destroying it is then the caller's. Taken over, by name: from now on it is weir's
  // to destroy.
  CUstream_st* const raw_handle = s.release();
  const weir::stream adopted = weir::stream::adopt(raw_handle);
  std::printf("%s was given away and taken over\n", weir::to_string(adopted).c_str());
  return s.closed() && adopted.get() == raw_handle ? 0 : 1;
}
