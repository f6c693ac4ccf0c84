// weir/device/green_context.hpp - a device divided: contexts that have some of its multiprocessors
// to themselves.
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

// How multiprocessors are divided. The default keeps those together that can run one cluster of
// blocks.
struct sm_split_options {
  bool ignore_sm_coscheduling = false;      // smaller parts and finer steps, without large clusters
  bool max_potential_cluster_size = false;  // parts that allow clusters as large as there can be
};

// Some of the multiprocessors of a device. A value without an owner: it reserves nothing, and green
// contexts made from parts that overlap share what they have in common. Thread safety: any
// operation from any thread.
class WEIR_EXPORT sm_resource {
 public:
  // All that a device has, all that the work of a context may use, or of a stream: on a plain
  // context the whole device, on a green one its part. In a capture: allowed.
  // cuDeviceGetDevResource, cuCtxGetDevResource.
  [[nodiscard]] static sm_resource of(weir::device gpu, call_site at = call_site::current());
  [[nodiscard]] static sm_resource of(context_ref context, call_site at = call_site::current());
  [[nodiscard]] static sm_resource of(stream_ref stream, call_site at = call_site::current());

  // How many, and into how many it can be divided at least, and in what steps.
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  [[nodiscard]] unsigned min_partition_size() const noexcept { return min_partition_size_; }
  [[nodiscard]] unsigned coscheduled_alignment() const noexcept { return coscheduled_alignment_; }
  [[nodiscard]] weir::device device() const noexcept { return device_; }

  // Divides it into at most `groups` equal parts of at least `min_count` each, which have nothing
  // in common: fewer where there is not enough, and larger ones, since they grow in steps. A part
  // that comes from a division cannot be divided again, only what a green context made of it has:
  // sm_resource::of(context). cuDevSmResourceSplitByCount.
  [[nodiscard]] sm_split split(unsigned groups, unsigned min_count, sm_split_options options = {},
                               call_site at = call_site::current()) const;

  // How many groups there could be. Of more multiprocessors than there are:
  // invalid_resource_configuration.
  [[nodiscard]] unsigned group_count(unsigned min_count, sm_split_options options = {},
                                     call_site at = call_site::current()) const;

 private:
  friend class green_context;
  sm_resource(weir::device gpu, const void* resource) noexcept;

  weir::device device_;
  unsigned count_ = 0;
  unsigned min_partition_size_ = 0;
  unsigned coscheduled_alignment_ = 0;
  alignas(8) unsigned char resource_[144];  // the driver's CUdevResource
};

// What a division gives.
struct sm_split {
  std::vector<sm_resource> groups;
  sm_resource remainder;  // what is in no group, without their guarantees; of 0 multiprocessors if
                          // nothing is
};

// A context that has a part of a device: kernels of its streams run on its multiprocessors only, so
// that work elsewhere on the device cannot crowd it out. All else, memory and events above all, is
// shared with the primary context of the device. Its streams are non-blocking, and its default
// stream orders with no other; a thread has no default stream of its own there. Its streams are
// made with `weir::stream s{green}` and keep the context alive: it ends with the last of them, if
// they outlive this object. A stream's release() lets go of it. It converts to a context_ref for
// whatever takes a context. Move-only; moved-from and closed ones answer `closed` when used. Thread
// safety: any operation from any thread; moving and closing as any object. In a host function:
// refused. On an embedded device, parts are kept account of and confine nothing.
class WEIR_EXPORT green_context {
 public:
  // Of one part, or of several; those of one division share nothing. Makes nothing current. Fails
  // whole. On a GPU some 10 ms: keep it. cuDevResourceGenerateDesc, cuGreenCtxCreate.
  explicit green_context(const sm_resource& part, call_site at = call_site::current());
  explicit green_context(std::span<const sm_resource> parts, call_site at = call_site::current());

  green_context(green_context&& other) noexcept;
  green_context& operator=(green_context&& other) noexcept;
  // What fails goes to set_unhandled_error_handler. During a capture begun through weir: left for
  // later.
  ~green_context();

  // Lets go of it, and reports what fails if that ends it; does nothing a second time.
  // cuGreenCtxDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  // The context as everything else knows it. cuCtxFromGreenCtx, at its beginning.
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  // Of a closed one a reference that every use refuses (closed).
  operator context_ref() const {
    return closed() ? context_ref{detail::closed_handle<CUctx_st>()} : context();
  }
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  [[nodiscard]] sm_resource multiprocessors(call_site at = call_site::current()) const;

  // Marks the work queued so far in all streams of the context. While one of them captures: refused
  // (stream_capture_unsupported); the capture lives on. The event is of this device.
  // cuGreenCtxRecordEvent.
  void record(event_ref event, call_site at = call_site::current()) const;

  // Later work of all its streams, present and future ones, starts after what `event` marks now. In
  // a capture: as record(). cuGreenCtxWaitEvent.
  void wait(event_ref event, call_site at = call_site::current()) const;

  // Null when closed.
  [[nodiscard]] CUgreenCtx_st* get() const noexcept;

 private:
  [[nodiscard]] detail::green_state& open_state(const char* call, call_site at) const;

  detail::green_state* state_ = nullptr;
};

}  // namespace weir
