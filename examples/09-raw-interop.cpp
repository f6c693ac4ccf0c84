// SPDX-License-Identifier: Apache-2.0
// Lesson 9: weir together with other CUDA code: passing handles out and in.
#include <cstdio>
#include <weir/weir.hpp>

namespace {

// Stands for a function of a CUDA library. Its parameter is the driver's stream type, which is also
// cudaStream_t.
CUstream_st* library_call(CUstream_st* stream) { return stream; }

// Stands for a stream type of another library, such as cuda::stream_ref or rmm::cuda_stream_view:
// made from a handle and returns it.
class their_stream {
 public:
  explicit their_stream(CUstream_st* handle) : handle_{handle} {}
  [[nodiscard]] CUstream_st* get() const { return handle_; }

 private:
  CUstream_st* handle_;
};

// A function of this program that accepts each of them.
unsigned long long id_of(weir::stream_ref stream) { return stream.id(); }

}  // namespace

int main() {
  weir::stream s{weir::device{}};
  const unsigned long long id = s.id();

  // Out: a weir stream converts to a handle, also in kernel<<<grid, block, 0, s>>>().
  CUstream_st* const raw = library_call(s);

  // In, borrowed: a handle or another library's stream converts to a stream_ref. weir destroys
  // neither.
  const their_stream theirs{raw};
  if (id_of(raw) != id || id_of(theirs) != id) return 1;

  // Out again: weir's streams convert to the other library's type.
  const their_stream again = static_cast<their_stream>(s);
  if (again.get() != raw) return 1;

  // release() gives the stream away, so the caller must destroy it. adopt() takes it over, so weir
  // destroys it.
  CUstream_st* const raw_handle = s.release();
  const weir::stream adopted = weir::stream::adopt(raw_handle);
  std::printf("%s was given away and taken over\n", weir::to_string(adopted).c_str());
  return s.closed() && adopted.get() == raw_handle ? 0 : 1;
}
