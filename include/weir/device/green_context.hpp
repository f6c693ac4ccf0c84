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

#include <span>
#include <vector>

namespace weir {

struct sm_split;
namespace detail {
class green_state;
}

/// Options for dividing multiprocessors. By default, multiprocessors that can run one cluster of
/// blocks stay together.
struct sm_split_options {
  bool ignore_sm_coscheduling = false;  ///< smaller parts and finer steps, without large clusters
  bool max_potential_cluster_size = false;  ///< parts that allow the largest possible clusters
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
  /// Returns the multiprocessors that the work of a context may use: the whole device, or the part
  /// of a green context.
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
  /// Returns the smallest number of multiprocessors that a part can have.
  [[nodiscard]] unsigned min_partition_size() const noexcept { return min_partition_size_; }
  /// Returns the step in which the size of a part can grow, in multiprocessors.
  [[nodiscard]] unsigned coscheduled_alignment() const noexcept { return coscheduled_alignment_; }
  /// Returns the device.
  [[nodiscard]] weir::device device() const noexcept { return device_; }

  /// Divides the set into at most `groups` equal, disjoint parts of at least `min_count`
  /// multiprocessors each. There are fewer parts if there are not enough multiprocessors. Parts can
  /// be larger than min_count, because sizes grow in steps. A part that comes from a division
  /// cannot be divided again; sm_resource::query() of a green context created from it can.
  ///
  /// Driver: cuDevSmResourceSplitByCount.
  [[nodiscard]] sm_split split(unsigned groups, unsigned min_count, sm_split_options options = {},
                               call_site at = call_site::current()) const;

  /// Returns the number of parts that split() could make.
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
  std::vector<sm_resource> groups;
  /// The multiprocessors that are in no group, without the guarantees of a group. Its count is 0 if
  /// none is left.
  sm_resource remainder;
};

/// An owned context that uses only some multiprocessors of a device. Kernels of its streams run
/// only there, so other work on the device cannot displace them. Memory, events and everything else
/// are shared with the primary context of the device.
///
/// Create streams with `weir::stream s{green}`. They are non-blocking, and they keep the context
/// alive: if they outlive this object, the context is destroyed with the last of them.
/// stream::release() drops that share. The context's default stream orders with no other stream,
/// and there is no per-thread default stream. Converts to context_ref wherever a context is
/// expected.
///
/// Move-only. A moved-from or closed object throws `closed` when used. On an embedded device the
/// parts are tracked, but do not confine anything.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: all members may be called from any thread. Moving and closing need external
/// synchronisation.
class WEIR_EXPORT green_context {
 public:
  /// Creates a context on one part. Makes nothing current. On failure nothing is left behind.
  ///
  /// Cost: about 10 ms on a GPU; keep the object.
  /// Driver: cuDevResourceGenerateDesc, cuGreenCtxCreate.
  explicit green_context(const sm_resource& part, call_site at = call_site::current());
  /// Creates a context on several parts. Parts of one division are disjoint. Makes nothing current.
  /// On failure nothing is left behind.
  ///
  /// Cost: about 10 ms on a GPU; keep the object.
  /// Driver: cuDevResourceGenerateDesc, cuGreenCtxCreate.
  explicit green_context(std::span<const sm_resource> parts, call_site at = call_site::current());

  green_context(green_context&& other) noexcept;
  green_context& operator=(green_context&& other) noexcept;
  /// Releases the context. Errors go to set_unhandled_error_handler.
  ///
  /// In a capture: deferred until the capture, if started through weir, has ended.
  ~green_context();

  /// Releases the context now. Does nothing if it is closed already.
  ///
  /// Throws: the driver's error, if this ends the context.
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
  /// In a capture: throws `stream_capture_unsupported` if a stream of the context captures; the
  /// capture stays valid.
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

  detail::green_state* state_ = nullptr;
};

}  // namespace weir
