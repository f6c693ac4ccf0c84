// SPDX-License-Identifier: Apache-2.0
// weir/memory/buffer.hpp - device memory that is allocated and freed in stream order.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>

namespace weir {

class memory_pool_ref;

namespace detail {

struct captured_memory;
struct first_failure;

/// Untyped stream-ordered memory: the part of buffer that does not depend on the element type.
class WEIR_EXPORT stream_memory : public owned_memory {
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
  void bind_to(stream_ref stream, call_site at);
  [[nodiscard]] CUstream_st* reachable_stream() const noexcept;
  first_failure free_on(CUstream_st* stream) noexcept;
  void free_after_uses(CUstream_st* stream, CUstream_st* memory_stream,
                       first_failure& failure) noexcept;
  void free_later(CUstream_st* memory_stream) noexcept;
  void release_resources() noexcept;
  enum class free_in_capture : unsigned char;
  [[nodiscard]] free_in_capture current_free_in_capture() const noexcept;
  [[nodiscard]] bool was_never_allocated() const noexcept;

  CUstream_st* stream_ = closed_handle<CUstream_st>();
  /// Keeps the stream alive for the free; null if weir does not own the stream.
  stream_state* state_ = nullptr;
  /// The capture in which the memory was allocated. Null if there is none, or if it was started
  /// directly through the driver while weir knew no open capture. Owned by this object.
  captured_memory* capture_ = nullptr;
};

}  // namespace detail

/// Owns `size` elements of uninitialised device memory, which are allocated and freed in the order
/// of a stream. Neither the allocation nor the free blocks the host.
///
///   weir::buffer<float> x{s, 1000};                  // 1000 elements, on the device of s
///   weir::copy(s, host, x);                          // host: a vector of at most 1000 floats
///   weir::fill(s, x.first(10), 0.0f);                // a part of the buffer
///
/// Work queued on the buffer's stream after the allocation may use the buffer. The memory is freed
/// after all work that was queued on that stream before the free.
/// weir's operations (copy, fill, ...) record the other streams on which they use the buffer. The
/// free waits for those streams too, on the device. Operations that get a part of the buffer, a
/// std::span or a pointer into it do likewise. weir cannot record other work: kernels launched with
/// <<<>>>, library calls, and kernels that get the address in a struct. After queueing such work on
/// another stream, call used_on(). A buffer that is used only on its own stream needs no recording,
/// which costs nothing then.
/// The caller orders the first use on another stream: other.wait(x.stream()). The buffer's stream
/// and the streams that used it must live until the free. Streams owned by weir are kept alive;
/// keep foreign streams alive yourself.
/// T must be trivially copyable. An empty buffer makes no driver call, and its data() is null.
/// Common members such as data() and size() are in typed_memory.hpp. Move-only. A moved-from or
/// closed buffer throws `closed` when used; its size() is 0, and close() does nothing.
///
/// In a capture: a buffer that was allocated in the capture is freed in it, by a free node behind
/// its uses in that capture, wherever the buffer ends. Uses in other captures are not awaited,
/// since the program orders the nodes of those captures. A later capture into the graph also frees
/// it, by a node behind all others. If the buffer's stream has already been joined, the free node
/// is added to the stream in which the capture began, so that nothing must be joined again. If the
/// capture is invalidated, the memory was never allocated and needs no free. The free of any other
/// buffer is deferred until all open captures have ended.
/// A graph knows the buffers that its captured operations and its nodes use. The free of such a
/// buffer waits for the launches that were queued before it. Later launches must not use it.
/// A buffer that was allocated in a capture and outlives it refers to the memory that a launch of
/// the graph allocates. Destroying the buffer frees that memory, after the launches that were
/// queued before, if it is allocated at the time, and otherwise does nothing. weir tracks only
/// launches of executables that were instantiated through weir: with others, destroy the buffer
/// before the executable. In a host function: constructing throws `not_permitted`. Destroying is
/// allowed; another thread frees the memory. Thread safety: const members, and copies from the
/// buffer, may run in several threads; all others need exclusive access.
template <class T>
class buffer : public detail::typed_memory<T, detail::stream_memory> {
  using elements = detail::typed_memory<T, detail::stream_memory>;

 public:
  /// Allocates from the device's current pool. If the constructor throws, nothing was allocated.
  ///
  /// Throws: `out_of_memory`.
  /// In a capture: on the capturing stream, adds an allocation node. On another stream: as
  /// memory_pool_ref::allocate().
  /// Driver: cuMemAllocAsync.
  buffer(stream_ref stream, std::size_t size, call_site at = call_site::current())
      : elements{stream, size, sizeof(T), at} {}

  /// Allocates from `pool` (memory_pool.hpp) instead of the device's current pool. The pool may be
  /// destroyed before the buffer.
  ///
  /// Throws: `out_of_memory`.
  /// In a capture: as memory_pool_ref::allocate().
  /// Driver: cuMemAllocFromPoolAsync.
  buffer(const memory_pool_ref& pool, stream_ref stream, std::size_t size,
         call_site at = call_site::current())
      : elements{pool, stream, size, sizeof(T), at} {}

  /// Takes ownership of memory from cuMemAllocAsync, cudaMallocAsync or cuMemAllocFromPoolAsync.
  /// The buffer frees the memory in the order of `stream`.
  [[nodiscard]] static buffer adopt(stream_ref stream, T* data, std::size_t size,
                                    call_site at = call_site::current()) {
    return buffer{detail::stream_memory::adopt(stream, data, size * sizeof(T), at)};
  }

  /// Moves the buffer without a driver call. Destroying or overwriting a buffer frees its memory in
  /// stream order, like close(), and never blocks. Errors go to set_unhandled_error_handler.
  buffer(buffer&&) noexcept = default;
  /// Frees the memory that this buffer held, in stream order, and takes over the memory of the
  /// other buffer.
  buffer& operator=(buffer&&) noexcept = default;

  /// Frees the memory in the order of its stream and reports errors. A second call does nothing.
  ///
  /// Driver: cuMemFreeAsync; for each other stream that used the buffer cuEventRecord and
  /// cuStreamWaitEvent.
  void close(call_site at = call_site::current()) { memory_.close(at); }
  /// Frees the memory in the order of `stream`, which waits for the buffer's own stream. Reports
  /// errors. A second call does nothing.
  ///
  /// In a capture: memory that an open capture allocated is freed in that capture, even if `stream`
  /// is not part of it.
  /// Driver: cuMemFreeAsync; for each other stream that used the buffer cuEventRecord and
  /// cuStreamWaitEvent.
  void close(stream_ref stream, call_site at = call_site::current()) { memory_.close(stream, at); }

  /// Makes `stream` the buffer's stream. `stream` waits for the work queued so far on the previous
  /// stream of the buffer. If `stream` is a default stream, the default stream of the memory's
  /// context is used.
  ///
  /// Throws: `illegal_state` if `stream` is in a capture that the previous stream is not in. The
  /// captures stay valid.
  void set_stream(stream_ref stream, call_site at = call_site::current()) {
    memory_.set_stream(stream, at);
  }

  /// Gives up ownership and returns the address; the caller must free the memory. The object is
  /// closed afterwards.
  [[nodiscard]] T* release(call_site at = call_site::current()) {
    return static_cast<T*>(memory_.release(at));
  }

  /// Returns the stream to which the buffer belongs. No driver call.
  [[nodiscard]] stream_ref stream() const noexcept { return memory_.stream(); }

 private:
  explicit buffer(detail::stream_memory&& memory) noexcept
      : elements{static_cast<detail::stream_memory&&>(memory)} {}

  using elements::memory_;
};

}  // namespace weir
