// weir/detail/tracked_memory.hpp - memory that remembers which streams it was used on; the untyped
// part of buffers.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>

namespace weir::detail {

class pending_uses;
class stream_state;

// An allocation, the stream it belongs to if any, and the other streams that weir's operations used
// it on. Thread safety: register_use() from any thread; the rest as any object.
class WEIR_EXPORT tracked_memory {
 public:
  tracked_memory(const tracked_memory&) = delete;
  tracked_memory& operator=(const tracked_memory&) = delete;

  [[nodiscard]] bool closed() const noexcept { return address_ == closed_handle<void>(); }
  [[nodiscard]] void* address() const noexcept { return closed() ? nullptr : address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return closed() ? 0 : bytes_; }
  // Where device memory is; null for memory of the host.
  [[nodiscard]] CUctx_st* device_context() const noexcept { return device_context_; }

  // Nothing has to be remembered of an operation on this stream. One comparison, or two.
  [[nodiscard]] bool is_untracked_on(stream_ref s) const noexcept {
    return s.get() == __atomic_load_n(&untracked_streams_[0], __ATOMIC_RELAXED) ||
           s.get() == __atomic_load_n(&untracked_streams_[1], __ATOMIC_RELAXED);
  }

  // Remembers that work given to the stream until the memory is freed uses the memory. Called
  // before the work is queued: fails with nothing changed. Is it a stream that weir does not own,
  // and so cannot ask later? Then record_use() has to follow when the work is queued.
  [[nodiscard]] bool register_use(stream_ref s, call_site at) const;
  void record_use(stream_ref s, call_site at) const;

 protected:
  tracked_memory() noexcept = default;
  ~tracked_memory() = default;
  // Becomes what `other` is, which is closed then. What this was is not looked after.
  void move_from(tracked_memory& other) noexcept;
  void reset() noexcept;

  void* address_ = closed_handle<void>();
  std::size_t bytes_ = 0;
  CUctx_st* device_context_ = nullptr;
  // The streams on which uses go unremembered, or are already: its own, if it has one, and those
  // that used it last; none (closed handles) where every use has to be looked at, as of the default
  // streams, whose handles mean another stream in every context, and one of them in every thread.
  // The list of uses changes them while operations of other threads look at them: atomic accesses
  // (<atomic> costs too much in this header).
  mutable CUstream_st* untracked_streams_[2] = {closed_handle<CUstream_st>(),
                                                closed_handle<CUstream_st>()};
  CUstream_st* untracked_default_stream_ =
      closed_handle<CUstream_st>();          // the default stream that it belongs to, if any
  unsigned long long per_thread_owner_ = 0;  // and the thread of the per-thread one
  mutable pending_uses* uses_ = nullptr;     // made at the first use elsewhere

 private:
  [[nodiscard]] bool is_untracked_on_default(stream_ref s, call_site at) const;
};

}  // namespace weir::detail
