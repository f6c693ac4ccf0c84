// weir/memory/pinned_buffer.hpp - host memory that devices copy from and to without stopping
// anybody.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/host_accessible_memory.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/device/device.hpp>

#include <cstddef>

namespace weir {

// `size` elements of pinned (page-locked) host memory, uninitialised: the memory for asynchronous
// copies. The host reads and writes it like an array; every device can copy from and to it and
// address it. Destroying one while a copy is still under way is allowed: weir's operations remember
// the streams on which they used it, and the memory is given back by another thread when their work
// is done. Operations that weir did not queue are told with used_on(). T is trivially copyable. An
// empty one owns nothing. data(), [] and what else all buffers have: typed_memory.hpp. Move-only;
// moved-from and closed ones answer `closed` when used. Thread safety: as any object, except that
// copies from it may be queued from several threads. Making and freeing pinned memory is slow (tens
// of microseconds): keep it. In a capture begun through weir: allowed, and no part of it; in others
// the driver refuses to make one, and drops the capture. Closing and destroying one harms none.
template <class T>
class pinned_buffer : public detail::host_array<T, detail::host_accessible_memory> {
  using elements = detail::host_array<T, detail::host_accessible_memory>;

 public:
  // Allocated in the primary context of the device, usable by all. Fails whole. cuMemHostAlloc
  // (portable).
  explicit pinned_buffer(std::size_t size, device gpu = device{},
                         call_site at = call_site::current())
      : elements{detail::host_accessible_kind::pinned, size, sizeof(T), gpu,
                 detail::pinned_for_all_devices,       at} {}

  // Never blocks: another thread frees it when the streams that weir knows to use it are done, and
  // waits there for the whole device where a GPU's driver does so (cuMemFreeHost). What fails goes
  // to set_unhandled_error_handler.
  pinned_buffer(pinned_buffer&&) noexcept = default;
  pinned_buffer& operator=(pinned_buffer&&) noexcept = default;

  // Frees it now, waiting for the streams that use it, and reports what fails. Does nothing a
  // second time. Refused (stream_capture_unsupported), with nothing changed, while a stream that
  // used it captures. cuEventSynchronize, cuMemFreeHost.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

}  // namespace weir
