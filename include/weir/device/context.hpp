// SPDX-License-Identifier: Apache-2.0
// weir/device/context.hpp - contexts, which own the streams, events and memory of a device.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

#include <utility>

namespace weir {

/// A borrowed context. Trivially copyable; pass by value. Valid while the owner keeps the context.
/// A null reference names no context.
///
/// Few programs need contexts: streams, events and buffers are created on a device. weir makes the
/// required context current for a driver call and restores the caller's context afterwards.
///
/// In a host function: members that call the driver fail with `not_permitted`.
/// Thread safety: all members may be called from any thread.
class WEIR_EXPORT context_ref {
 public:
  /// Refers to the context with this handle.
  constexpr explicit context_ref(CUctx_st* handle) noexcept : handle_{handle} {}

  /// Returns the device of the context.
  ///
  /// In a capture: allowed.
  /// Driver: cuCtxGetDevice.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;

  /// Blocks the calling thread until all work of all streams of the context has finished.
  ///
  /// While streams of the context take part in captures started through weir by other threads,
  /// waits for the streams that weir owns and for the default streams, and for what the capturing
  /// streams were given before. Streams that other code created as non-blocking are not awaited
  /// then.
  ///
  /// Throws: the error of failed work.
  /// In a capture: throws `stream_capture_unsupported` if the calling thread began the capture, or
  /// if a blocking stream takes part in it; the capture stays valid. If the capture was started
  /// directly through the driver, the driver refuses the call and invalidates the capture.
  /// Driver: cuCtxRecordEvent, cuEventSynchronize; beside captures cuEventRecord for each stream;
  /// with drivers before CUDA 12.5 cuCtxSynchronize if no capture is open.
  void sync(call_site at = call_site::current()) const;

  /// Returns the result that every further call on this context would have: success, or the error
  /// that made the context unusable, such as an illegal address in a kernel. Only a new process
  /// recovers from such an error.
  ///
  /// In a capture: allowed.
  /// Driver: cuMemGetInfo.
  [[nodiscard]] errc status() const noexcept;

  /// Returns the raw handle.
  [[nodiscard]] constexpr CUctx_st* get() const noexcept { return handle_; }
  /// Returns true if this names a context.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }
  friend constexpr bool operator==(context_ref, context_ref) noexcept = default;

 private:
  CUctx_st* handle_;
};

/// Returns the context that is current for the calling thread, or a null reference.
///
/// In a capture: allowed.
/// Driver: cuCtxGetCurrent.
[[nodiscard]] WEIR_EXPORT context_ref current_context(call_site at = call_site::current());

/// Returns the device of current_context(), or device 0 if no context is current.
[[nodiscard]] WEIR_EXPORT device current_device(call_site at = call_site::current());

/// An owned reference to the primary context of a device. The driver counts references: the context
/// exists at least as long as this object. Creating one makes nothing current. weir itself holds a
/// reference for every device it has used. Use this class for code that outlives weir's use of the
/// device, or that hands the context to other libraries.
///
/// Move-only. A moved-from or closed object throws `closed` when used.
///
/// Thread safety: an object needs external synchronisation; different objects may be used from
/// different threads.
class WEIR_EXPORT context {
 public:
  /// Retains the primary context of the device.
  ///
  /// Driver: cuDevicePrimaryCtxRetain.
  explicit context(weir::device gpu, call_site at = call_site::current());
  context(context&& other) noexcept;
  context& operator=(context&& other) noexcept;
  /// Releases the reference. Errors go to set_unhandled_error_handler.
  ///
  /// Driver: cuDevicePrimaryCtxRelease.
  ~context();

  /// Releases the reference now. Does nothing if the object is closed already.
  ///
  /// Throws: the driver's error.
  /// Driver: cuDevicePrimaryCtxRelease.
  void close(call_site at = call_site::current());
  /// Returns true if the object was closed or moved from.
  [[nodiscard]] bool closed() const noexcept;

  /// Returns the device of the context, without a driver call.
  [[nodiscard]] weir::device device() const noexcept { return device_; }
  /// Like context_ref::sync(): blocks until all work of the context has finished.
  void sync(call_site at = call_site::current()) const;
  /// Like context_ref::status().
  [[nodiscard]] errc status() const noexcept;

  /// Returns the raw handle.
  [[nodiscard]] CUctx_st* get() const noexcept { return handle_; }
  /// Converts to the reference.
  operator context_ref() const noexcept { return context_ref{handle_}; }

 private:
  CUctx_st* handle_;
  weir::device device_;
};

/// Makes a context current for the calling thread until the end of the block. Then restores the
/// previous context, also if the block ends by an exception. Scopes nest; each scope has to end on
/// the thread that created it.
///
/// In a capture: allowed.
/// In a host function: throws `not_permitted`.
/// Cost: 11 ns if the context is current already.
class WEIR_EXPORT context_scope {
 public:
  /// Makes the context current.
  ///
  /// Driver: cuCtxGetCurrent, cuCtxPushCurrent.
  [[nodiscard]] explicit context_scope(context_ref context, call_site at = call_site::current());
  /// Makes the primary context of the device current.
  ///
  /// Driver: cuCtxGetCurrent, cuCtxPushCurrent.
  [[nodiscard]] explicit context_scope(weir::device gpu, call_site at = call_site::current());
  context_scope(const context_scope&) = delete;
  context_scope& operator=(const context_scope&) = delete;
  /// Restores the previous context.
  ///
  /// Driver: cuCtxPopCurrent.
  ~context_scope();

 private:
  bool pushed_;  ///< false if the context was current already, so that nothing is restored
};

}  // namespace weir
