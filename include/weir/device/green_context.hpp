// SPDX-License-Identifier: Apache-2.0
// weir/device/green_context.hpp - green contexts: contexts that use only some of a device's
// multiprocessors.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <memory>
#include <span>
#include <vector>

namespace weir {

struct sm_split;
namespace detail {
class green_state;

/// Releases a reference to a green context, for destructors.
struct green_state_deleter {
  WEIR_EXPORT void operator()(green_state* state) const noexcept;
};
}  // namespace detail

/// Options for sm_resource::split(), which divides multiprocessors into parts. By default,
/// multiprocessors that can run one cluster of blocks together are put into one part.
struct sm_split_options {
  /// Allows smaller parts, and sizes of finer granularity. Kernels of such parts may be limited to
  /// small clusters.
  bool ignore_sm_coscheduling = false;
  /// Chooses parts whose kernels can use clusters of the largest possible size.
  bool max_potential_cluster_size = false;
};

/// A set of multiprocessors of a device. A plain value without ownership: it reserves nothing.
/// Green contexts created from overlapping sets share the overlap.
///
/// Thread safety: all members may be called from any thread.
class WEIR_EXPORT sm_resource {
 public:
  /// Returns all multiprocessors of a device.
  ///
  /// In a capture: allowed.
  /// Driver: cuDeviceGetDevResource.
  [[nodiscard]] static sm_resource query(weir::device gpu, call_site at = call_site::current());
  /// Returns the multiprocessors that the work of a context may use: all multiprocessors of the
  /// device, or those of a green context.
  ///
  /// In a capture: allowed.
  /// Driver: cuCtxGetDevResource.
  [[nodiscard]] static sm_resource query(context_ref context, call_site at = call_site::current());
  /// Returns the multiprocessors that the work of a stream may use: those of its context.
  ///
  /// In a capture: allowed.
  /// Driver: cuCtxGetDevResource.
  [[nodiscard]] static sm_resource query(stream_ref stream, call_site at = call_site::current());

  /// Returns the number of multiprocessors.
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  /// Returns the smallest number of multiprocessors that a part from split() can have.
  [[nodiscard]] unsigned min_partition_size() const noexcept { return min_partition_size_; }
  /// Returns the granularity of part sizes: split() rounds the size of a part up to a multiple of
  /// this number of multiprocessors.
  [[nodiscard]] unsigned coscheduled_alignment() const noexcept { return coscheduled_alignment_; }
  /// Returns the device.
  [[nodiscard]] weir::device device() const noexcept { return device_; }

  /// Divides the set into at most `groups` equal, disjoint parts of at least `min_count`
  /// multiprocessors each. Makes fewer parts if there are not enough multiprocessors. A part can be
  /// larger than `min_count`, because sizes are multiples of coscheduled_alignment(). A part that
  /// split() returned cannot be divided again. To divide it, create a green context on it, and call
  /// split() on what sm_resource::query() returns for that context.
  ///
  /// Driver: cuDevSmResourceSplitByCount.
  [[nodiscard]] sm_split split(unsigned groups, unsigned min_count, sm_split_options options = {},
                               call_site at = call_site::current()) const;

  /// Returns the largest number of parts of at least `min_count` multiprocessors that split() can
  /// make.
  ///
  /// Throws: `invalid_resource_configuration` if min_count is greater than the number of
  /// multiprocessors.
  /// Driver: cuDevSmResourceSplitByCount.
  [[nodiscard]] unsigned group_count(unsigned min_count, sm_split_options options = {},
                                     call_site at = call_site::current()) const;

 private:
  friend class green_context;
  sm_resource(weir::device gpu, const void* resource) noexcept;

  weir::device device_;
  unsigned count_ = 0;
  unsigned min_partition_size_ = 0;
  unsigned coscheduled_alignment_ = 0;
  alignas(8) unsigned char resource_[144];  ///< the driver's CUdevResource
};

/// The result of sm_resource::split().
struct sm_split {
  std::vector<sm_resource> groups;  ///< the parts
  /// The multiprocessors that are in no part. The driver guarantees less for them than for a part,
  /// for example about clusters. The count is 0 if none is left.
  sm_resource remainder;
};

/// An owned context that uses only some multiprocessors of a device. Kernels of its streams run
/// only there, so other work on the device cannot displace them. Memory, events and everything else
/// are shared with the primary context of the device.
///
/// Create streams with `weir::stream s{green}`. The streams are non-blocking, and they keep the
/// context alive: if they outlive this object, the context is destroyed with the last stream. A
/// stream that stream::release() has given up no longer keeps the context alive. The default stream
/// of the context does not order with other streams, and there is no per-thread default stream.
/// Converts to context_ref wherever a context is expected.
///
/// Move-only. A moved-from or closed object throws `closed` when used. The embedded driver divides
/// multiprocessors like a GPU, but its parts confine nothing: it may run the work of a green
/// context on any processor.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread. Moving and closing need external
/// synchronisation.
class WEIR_EXPORT green_context {
 public:
  /// Creates a context on one part, for example one of sm_split::groups. Makes nothing current. On
  /// failure nothing is left behind.
  ///
  /// Cost: about 10 ms on a GPU; keep the object.
  /// Driver: cuDevResourceGenerateDesc, cuGreenCtxCreate.
  explicit green_context(const sm_resource& part, call_site at = call_site::current());
  /// Creates a context on several parts. Parts that one split() returned are disjoint. Makes
  /// nothing current. On failure nothing is left behind.
  ///
  /// Cost: about 10 ms on a GPU; keep the object.
  /// Driver: cuDevResourceGenerateDesc, cuGreenCtxCreate.
  explicit green_context(std::span<const sm_resource> parts, call_site at = call_site::current());

  green_context(green_context&&) noexcept = default;
  green_context& operator=(green_context&&) noexcept = default;
  /// Releases the context. Errors go to set_unhandled_error_handler.
  ///
  /// In a capture: deferred until the capture, if started through weir, has ended.
  /// In a host function: deferred; another thread releases the context.
  ~green_context() = default;

  /// Releases the context now. Does nothing if the object is closed already.
  ///
  /// Throws: the driver's error, if this object was the last user of the context, so that the
  /// context is destroyed.
  /// Driver: cuGreenCtxDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the object was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  /// Returns the context as a reference.
  ///
  /// Throws: `closed`.
  /// Driver: cuCtxFromGreenCtx, when the object is created.
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  /// Converts to the reference. For a closed object it gives a reference whose every use throws
  /// `closed`.
  operator context_ref() const {
    return closed() ? context_ref{detail::closed_handle<CUctx_st>()} : context();
  }
  /// Returns the device.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  /// Returns the multiprocessors of the context.
  [[nodiscard]] sm_resource multiprocessors(call_site at = call_site::current()) const;

  /// Records the event after the work queued so far in all streams of the context. The event has to
  /// belong to this device.
  ///
  /// In a capture: throws `stream_capture_unsupported` if a stream of the context takes part in a
  /// capture started through weir; the capture stays valid.
  /// Driver: cuGreenCtxRecordEvent.
  void record(event_ref event, call_site at = call_site::current()) const;

  /// Makes later work of all present and future streams of the context wait for the work that
  /// `event` captured at its last record.
  ///
  /// In a capture: as record().
  /// Driver: cuGreenCtxWaitEvent.
  void wait(event_ref event, call_site at = call_site::current()) const;

  /// Returns the raw handle; null if closed.
  [[nodiscard]] CUgreenCtx_st* get() const noexcept;

 private:
  [[nodiscard]] detail::green_state& open_state(const char* call, call_site at) const;

  std::unique_ptr<detail::green_state, detail::green_state_deleter> state_;  ///< null if closed
};

}  // namespace weir
