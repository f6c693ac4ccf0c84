// SPDX-License-Identifier: Apache-2.0
// weir/detail/tracked_memory.hpp - memory that tracks the streams that use it: the untyped part of
// buffers.
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

/// An allocation, the stream to which it belongs, if any, and the other streams on which weir's
/// operations used it.
///
/// Thread safety: register_use() may be called from any thread. The rest needs external
/// synchronisation.
class WEIR_EXPORT tracked_memory {
 public:
  tracked_memory(const tracked_memory&) = delete;
  tracked_memory& operator=(const tracked_memory&) = delete;

  [[nodiscard]] bool closed() const noexcept { return address_ == closed_handle<void>(); }
  [[nodiscard]] void* address() const noexcept { return closed() ? nullptr : address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return closed() ? 0 : bytes_; }
  /// Returns the context of device memory; null for host memory.
  [[nodiscard]] CUctx_st* device_context() const noexcept { return device_context_; }

  /// Returns true if an operation on this stream need not be tracked. Takes one or two comparisons.
  [[nodiscard]] bool is_untracked_on(stream_ref s) const noexcept {
    return s.get() == __atomic_load_n(&untracked_streams_[0], __ATOMIC_RELAXED) ||
           s.get() == __atomic_load_n(&untracked_streams_[1], __ATOMIC_RELAXED);
  }

  /// Registers that work queued in the stream uses the memory, until the memory is freed. Call it
  /// before queueing the work: if it throws, nothing has changed. Returns true for a stream that
  /// weir does not own, and so cannot query later: then call record_use() after queueing the work.
  [[nodiscard]] bool register_use(stream_ref s, call_site at) const;
  void record_use(stream_ref s, call_site at) const;

 protected:
  tracked_memory() noexcept = default;
  ~tracked_memory() = default;
  /// Takes over the allocation of `other`, which is closed afterwards. Does not free this object's
  /// own.
  void move_from(tracked_memory& other) noexcept;
  void reset() noexcept;

  void* address_ = closed_handle<void>();
  std::size_t bytes_ = 0;
  CUctx_st* device_context_ = nullptr;
  /// Streams whose uses need not be tracked, or are tracked already: the memory's own stream, if
  /// any, and the streams that used it last. Closed handles mark empty entries. Both entries stay
  /// empty if every use has to be checked, as for default streams. The handle of a default stream
  /// stands for a different stream in each context. That of the per-thread default stream also
  /// depends on the thread. The list of uses changes these members while operations of other
  /// threads read them with atomic builtins (<atomic> costs too much in this header).
  mutable CUstream_st* untracked_streams_[2] = {closed_handle<CUstream_st>(),
                                                closed_handle<CUstream_st>()};
  /// The default stream to which it belongs, if any.
  CUstream_st* untracked_default_stream_ = closed_handle<CUstream_st>();
  unsigned long long per_thread_owner_ = 0;  ///< thread of the per-thread default stream
  mutable pending_uses* uses_ = nullptr;     ///< created at the first use on another stream

 private:
  [[nodiscard]] bool is_untracked_on_default(stream_ref s, call_site at) const;
};

}  // namespace weir::detail
