// weir/pinned_buffer.hpp - host memory that devices copy from and to without stopping anybody.
#pragma once

#include <weir/call_site.hpp>
#include <weir/device.hpp>
#include <weir/reachable_memory.hpp>
#include <weir/stream.hpp>

#include <cstddef>
#include <type_traits>

namespace weir {

// `size` elements of pinned (page-locked) host memory, uninitialised: the memory for asynchronous copies. The host
// reads and writes it like an array; every device can copy from and to it and address it.
// Destroying one while a copy is still under way is allowed: weir's operations remember the streams on which they used
// it, and the memory is given back by another thread when their work is done. Operations that weir did not queue are
// told with used_on().
// T is trivially copyable. An empty one owns nothing. Move-only; moved-from and closed ones answer `closed` when used.
// Thread safety: as any object, except that copies from it may be queued from several threads.
// Making and freeing pinned memory is slow (tens of microseconds): keep it. In a capture begun through weir: allowed,
// and no part of it; in others the driver refuses to make one, and drops the capture.
template <class T>
class pinned_buffer {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "pinned memory holds plain values");

 public:
  using value_type = T;

  // Allocated in the primary context of the device, usable by all. Fails whole. cuMemHostAlloc (portable).
  explicit pinned_buffer(std::size_t size, device gpu = device{}, call_site at = call_site::current())
      : memory_{detail::reachable_kind::pinned, size, sizeof(T), gpu, detail::pinned_for_all_devices, at} {}

  // Never blocks: another thread frees it when the streams that weir knows to use it are done, and waits there for the
  // whole device where a GPU's driver does so (cuMemFreeHost). What fails goes to on_unraised_error.
  pinned_buffer(pinned_buffer&&) noexcept = default;
  pinned_buffer& operator=(pinned_buffer&&) noexcept = default;

  // Frees it now, waiting for the streams that use it, and reports what fails. Does nothing a second time.
  // cuEventSynchronize, cuMemFreeHost.
  void close(call_site at = call_site::current()) { memory_.close(at); }
  [[nodiscard]] bool closed() const noexcept { return memory_.closed(); }

  // Work was queued on that stream that uses this and that weir did not queue. Call it after queueing.
  void used_on(stream_ref stream, call_site at = call_site::current()) const {
    if (memory_.note_use(stream, at)) memory_.mark_use(stream, at);
  }

  [[nodiscard]] T* data() noexcept { return static_cast<T*>(memory_.address()); }
  [[nodiscard]] const T* data() const noexcept { return static_cast<const T*>(memory_.address()); }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.bytes() / sizeof(T); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return memory_.bytes(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  // As an array. The host touches it when the copies that use it are done.
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size(); }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }

  // For weir's operations.
  [[nodiscard]] const detail::tracked_memory& tracked() const noexcept { return memory_; }

 private:
  detail::reachable_memory memory_;
};

}  // namespace weir
