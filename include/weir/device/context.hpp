// weir/device/context.hpp - contexts: where the streams, events and memory of a device live.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>

#include <utility>

namespace weir {

// A context, borrowed: valid while somebody keeps it. Trivially copyable; pass by value. A null one
// is no context at all. Few programs need one: streams, events and buffers are made on a device,
// and weir makes the right context current where a driver call wants one, and the caller's own
// again afterwards. Thread safety: any operation from any thread. In a host function: refused.
class WEIR_EXPORT context_ref {
 public:
  constexpr explicit context_ref(CUctx_st* handle) noexcept : handle_{handle} {}

  // Its device. In a capture: allowed. cuCtxGetDevice.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;

  // Blocks the calling thread until all work of all streams of the context is done; throws what
  // that work failed with. While a stream of the context captures: refused
  // (stream_capture_unsupported); the capture lives on. cuCtxSynchronize.
  void sync(call_site at = call_site::current()) const;

  // What every further call on this context would answer: success, or the error that lost the
  // context (an illegal address in a kernel, say), which nothing mends but ending the process. In a
  // capture: allowed. cuMemGetInfo.
  [[nodiscard]] errc status() const noexcept;

  [[nodiscard]] constexpr CUctx_st* get() const noexcept { return handle_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return handle_ != nullptr; }
  friend constexpr bool operator==(context_ref, context_ref) noexcept = default;

 private:
  CUctx_st* handle_;
};

// The context that is current for the calling thread, or a null one. In a capture: allowed.
// cuCtxGetCurrent.
[[nodiscard]] WEIR_EXPORT context_ref current_context(call_site at = call_site::current());

// The device of that context, or device 0 if none is current.
[[nodiscard]] WEIR_EXPORT device current_device(call_site at = call_site::current());

// A reference to the primary context of a device, counted by the driver: it lives at least as long
// as this object. weir itself holds one for every device it has used, so this is for code that
// outlives weir's use of the device or that hands the context to others. Move-only; moved-from and
// closed ones answer `closed`. Thread safety: as any object; different ones from different threads.
// Retaining makes nothing current.
class WEIR_EXPORT context {
 public:
  // cuDevicePrimaryCtxRetain.
  explicit context(weir::device gpu, call_site at = call_site::current());
  context(context&& other) noexcept;
  context& operator=(context&& other) noexcept;
  // Releases; what fails goes to set_unhandled_error_handler.
  ~context();

  // Releases now and reports what fails; does nothing a second time. cuDevicePrimaryCtxRelease.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept;

  [[nodiscard]] weir::device device() const noexcept { return device_; }
  void sync(call_site at = call_site::current()) const;
  [[nodiscard]] errc status() const noexcept;

  [[nodiscard]] CUctx_st* get() const noexcept { return handle_; }
  operator context_ref() const noexcept { return context_ref{handle_}; }

 private:
  CUctx_st* handle_;
  weir::device device_;
};

// Makes a context current for the calling thread until the end of the block, then makes current
// again exactly what was, also when the block ends by an exception. Costs a look (11 ns) if the
// context is current already. Ends on the thread that began it; scopes nest. In a capture: allowed.
// In a host function: refused.
class WEIR_EXPORT context_scope {
 public:
  // cuCtxGetCurrent, cuCtxPushCurrent.
  [[nodiscard]] explicit context_scope(context_ref context, call_site at = call_site::current());
  [[nodiscard]] explicit context_scope(weir::device gpu, call_site at = call_site::current());
  context_scope(const context_scope&) = delete;
  context_scope& operator=(const context_scope&) = delete;
  // cuCtxPopCurrent.
  ~context_scope();

 private:
  bool pushed_;
};

}  // namespace weir
