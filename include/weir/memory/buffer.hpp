// weir/memory/buffer.hpp - device memory that is allocated and freed in the order of a stream.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>

namespace weir {

class memory_pool_ref;

namespace detail {

struct first_failure;

// Stream-ordered memory without a type.
class WEIR_EXPORT stream_memory : public tracked_memory {
 public:
  stream_memory(stream_ref stream, std::size_t count, std::size_t element_bytes, call_site at);
  stream_memory(const memory_pool_ref& pool, stream_ref stream, std::size_t count,
                std::size_t element_bytes, call_site at);
  static stream_memory adopt(stream_ref stream, void* address, std::size_t bytes, call_site at);
  stream_memory(stream_memory&& other) noexcept;
  stream_memory& operator=(stream_memory&& other) noexcept;
  ~stream_memory();

  void close(call_site at);
  void close(stream_ref stream, call_site at);
  void set_stream(stream_ref stream, call_site at);
  [[nodiscard]] void* release(call_site at);
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }

 private:
  stream_memory() noexcept = default;
  void allocate(const memory_pool_ref* pool, stream_ref stream, std::size_t count,
                std::size_t element_bytes, call_site at);
  void set_capture(unsigned long long id);
  void bind_to(stream_ref stream, call_site at);
  [[nodiscard]] CUstream_st* reachable_stream() const noexcept;
  first_failure free_on(CUstream_st* stream) noexcept;
  void free_later(CUstream_st* own) noexcept;
  void release_resources() noexcept;
  enum class free_in_capture : unsigned char;
  [[nodiscard]] free_in_capture current_free_in_capture() const noexcept;
  [[nodiscard]] bool was_never_allocated() const noexcept;

  CUstream_st* stream_ = closed_handle<CUstream_st>();
  stream_state* state_ = nullptr;   // keeps a stream of weir's alive for the free
  unsigned long long capture_ = 0;  // that has made it, if it is known to weir
};

}  // namespace detail

// `size` elements of device memory, uninitialised. It belongs to a stream: it may be used by work
// queued there after it was made, and it is freed there, after all work queued before. Nothing of
// this waits on the host. weir's operations (copy, fill, ...) remember the other streams on which
// they used it, and the free waits for those too, on the device; work that weir did not queue (a
// kernel launched with <<<>>>, a library's call) on another stream is told with used_on(). A buffer
// that stayed on its stream costs nothing for this. The first use on another stream has to be
// ordered by the caller, as ever: other.wait(x.stream()). The stream of a buffer, and those it was
// used on, live until it is freed; a foreign stream is the caller's to keep. T is trivially
// copyable. An empty buffer owns nothing, makes no driver call and has a null data(). data(),
// size() and what else all buffers have: typed_memory.hpp. Move-only; moved-from and closed ones
// answer `closed` when used. Thread safety: as any object, except that const operations, and with
// them copies from it, may run in several threads. In a host function: making one is refused,
// destroying one is left to another thread. In a capture: one that it has made is freed in it, as a
// part of the graph (of a stream that was joined already in the stream that the capture began in,
// so that nothing has to be joined again), and what a capture has made that broke goes with that;
// all others are freed after the captures that are open. One that a capture has made and that
// outlives it has the memory that a launch of the graph allocates. Where none has, or it was freed
// since, there is nothing to free, which is no error; weir tells by the executables that are
// launched through it, so a buffer of others is freed before their executable ends.
template <class T>
class buffer : public detail::typed_memory<T, detail::stream_memory> {
  using elements = detail::typed_memory<T, detail::stream_memory>;

 public:
  // Fails whole, with out_of_memory if there is none. In a capture of the stream: becomes an
  // allocation node. In one of another stream: as memory_pool_ref::allocate(). cuMemAllocAsync.
  buffer(stream_ref stream, std::size_t size, call_site at = call_site::current())
      : elements{stream, size, sizeof(T), at} {}

  // From that pool (memory_pool.hpp) instead of the device's current one; the pool may go before
  // the buffer. cuMemAllocFromPoolAsync.
  buffer(const memory_pool_ref& pool, stream_ref stream, std::size_t size,
         call_site at = call_site::current())
      : elements{pool, stream, size, sizeof(T), at} {}

  // Takes over memory that cuMemAllocAsync gave (cudaMallocAsync, cuMemAllocFromPoolAsync); its
  // free is ours from now on.
  [[nodiscard]] static buffer adopt(stream_ref stream, T* data, std::size_t size,
                                    call_site at = call_site::current()) {
    return buffer{detail::stream_memory::adopt(stream, data, size * sizeof(T), at)};
  }

  // Moving never touches the device. Destruction frees in stream order as close() does and never
  // blocks; what fails goes to set_unhandled_error_handler.
  buffer(buffer&&) noexcept = default;
  buffer& operator=(buffer&&) noexcept = default;

  // Frees it in the order of its stream, or of another one, which then waits for its stream;
  // reports what fails. Does nothing a second time. cuMemFreeAsync, and for each other stream of
  // use cuEventRecord and cuStreamWaitEvent.
  void close(call_site at = call_site::current()) { memory_.close(at); }
  void close(stream_ref stream, call_site at = call_site::current()) { memory_.close(stream, at); }

  // Belongs to another stream from now on, which waits for the work that the old one has been given
  // so far. A default stream is that of the context that the memory is in.
  void set_stream(stream_ref stream, call_site at = call_site::current()) {
    memory_.set_stream(stream, at);
  }

  // Gives the memory up; its free is the caller's. The object is closed.
  [[nodiscard]] T* release(call_site at = call_site::current()) {
    return static_cast<T*>(memory_.release(at));
  }

  [[nodiscard]] stream_ref stream() const noexcept { return memory_.stream(); }

 private:
  explicit buffer(detail::stream_memory&& memory) noexcept
      : elements{static_cast<detail::stream_memory&&>(memory)} {}

  using elements::memory_;
};

}  // namespace weir
