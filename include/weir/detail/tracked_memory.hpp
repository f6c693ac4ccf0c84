// SPDX-License-Identifier: Apache-2.0
// weir/detail/tracked_memory.hpp - an allocation of weir and the streams that use it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>

namespace weir::detail {

/// An allocation, the stream to which it belongs (if it belongs to one), and the other streams
/// whose work uses it. The object stays at its address when its buffer is moved. weir reuses the
/// object for another allocation after the end of this one, and never frees it.
///
/// Thread safety: all members may be called from any thread.
class WEIR_EXPORT tracked_memory {
 public:
  tracked_memory(const tracked_memory&) = delete;
  tracked_memory& operator=(const tracked_memory&) = delete;

  /// Returns true if the buffer of the allocation was closed, released or destroyed.
  [[nodiscard]] bool closed() const noexcept { return load(address_) == closed_handle<void>(); }
  [[nodiscard]] void* address() const noexcept { return closed() ? nullptr : load(address_); }
  /// Returns the context of device memory; null for host memory.
  [[nodiscard]] CUctx_st* device_context() const noexcept { return load(device_context_); }

  /// Returns true if a use on this stream need not be tracked. May return false for such a stream,
  /// too; register_use() then decides.
  [[nodiscard]] bool is_untracked_on(stream_ref s) const noexcept {
    return s.get() == load(untracked_streams_[0]) || s.get() == load(untracked_streams_[1]);
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
  ~tracked_memory() = default;

  /// Reads or writes a member that other threads may read. <atomic> takes long to include.
  template <class Value>
  [[nodiscard]] static Value load(const Value& member) noexcept {
    return __atomic_load_n(&member, __ATOMIC_RELAXED);
  }
  template <class Value>
  static void store(Value& member, Value value) noexcept {
    __atomic_store_n(&member, value, __ATOMIC_RELAXED);
  }

  void* address_ = closed_handle<void>();
  CUctx_st* device_context_ = nullptr;
  /// Streams on which uses need not be tracked, or are tracked already: the stream to which the
  /// memory belongs, and streams that used the memory last. A closed handle marks an empty entry. A
  /// default stream has no entry, because its handle stands for a different stream in each context,
  /// and for the per-thread default stream also in each thread. The list of uses changes the
  /// entries while other threads read them.
  mutable CUstream_st* untracked_streams_[2] = {closed_handle<CUstream_st>(),
                                                closed_handle<CUstream_st>()};
};

/// Returns an object whose closed() is true: the memory of closed buffers.
[[nodiscard]] WEIR_EXPORT const tracked_memory& closed_memory() noexcept;

}  // namespace weir::detail
