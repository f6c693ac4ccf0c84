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

/// An allocation, the stream to which it belongs (if it belongs to one), and the other streams
/// whose work uses it.
///
/// Thread safety: register_use() and record_use() may be called from any thread. All other members
/// need external synchronisation.
class WEIR_EXPORT tracked_memory {
 public:
  tracked_memory(const tracked_memory&) = delete;

  [[nodiscard]] bool closed() const noexcept { return address_ == closed_handle<void>(); }
  [[nodiscard]] void* address() const noexcept { return closed() ? nullptr : address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return closed() ? 0 : bytes_; }
  /// Returns the context of device memory; null for host memory.
  [[nodiscard]] CUctx_st* device_context() const noexcept { return device_context_; }

  /// Returns true if a use on this stream need not be tracked. May return false for such a stream,
  /// too; register_use() then decides.
  [[nodiscard]] bool is_untracked_on(stream_ref s) const noexcept {
    return s.get() == __atomic_load_n(&untracked_streams_[0], __ATOMIC_RELAXED) ||
           s.get() == __atomic_load_n(&untracked_streams_[1], __ATOMIC_RELAXED);
  }

  /// Registers that work in the stream uses the memory; freeing the memory then waits for the
  /// stream. Call it before queueing the work: if it throws, nothing has changed. Returns true for
  /// a stream that weir does not own, because weir cannot query such a stream when the memory is
  /// freed. The caller must then call record_use() after queueing the work.
  [[nodiscard]] bool register_use(stream_ref s, call_site at) const;
  /// Records the end of the work that is queued in the stream so far, which uses the memory.
  void record_use(stream_ref s, call_site at) const;

 protected:
  tracked_memory() noexcept = default;
  /// Copies the members. Called only by move_from() and reset().
  tracked_memory& operator=(const tracked_memory&) noexcept = default;
  ~tracked_memory() = default;
  /// Takes over the allocation of `other`, which is closed afterwards. Does not free the allocation
  /// that this object has.
  void move_from(tracked_memory& other) noexcept;
  /// Makes the object closed, without freeing the allocation.
  void reset() noexcept;

  void* address_ = closed_handle<void>();
  std::size_t bytes_ = 0;
  CUctx_st* device_context_ = nullptr;
  /// Streams on which uses need not be tracked, or are tracked already: the stream to which the
  /// memory belongs, and streams that used the memory last. A closed handle marks an empty entry. A
  /// default stream has no entry, because its handle stands for a different stream in each context,
  /// and for the per-thread default stream also in each thread. The list of uses changes the
  /// entries while other threads read them with atomic builtins (<atomic> takes long to include).
  mutable CUstream_st* untracked_streams_[2] = {closed_handle<CUstream_st>(),
                                                closed_handle<CUstream_st>()};
  /// The default stream to which the memory belongs; a closed handle if there is none.
  CUstream_st* untracked_default_stream_ = closed_handle<CUstream_st>();
  /// The id of the thread whose per-thread default stream the memory belongs to; 0 if there is
  /// none.
  unsigned long long per_thread_owner_ = 0;
  /// The list of uses on other streams; null before the first such use.
  mutable pending_uses* uses_ = nullptr;

 private:
  /// Returns true if the stream is the default stream to which the memory belongs, in the current
  /// context and thread.
  [[nodiscard]] bool is_untracked_on_default(stream_ref s, call_site at) const;
};

}  // namespace weir::detail
