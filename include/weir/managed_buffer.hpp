// weir/managed_buffer.hpp - memory with one address for the host and all devices, which moves to where it is used.
#pragma once

#include <weir/call_site.hpp>
#include <weir/device.hpp>
#include <weir/managed_memory.hpp>
#include <weir/reachable_memory.hpp>
#include <weir/stream.hpp>

#include <cstddef>
#include <type_traits>

namespace weir {

// `size` elements of managed memory, uninitialised. The host reads and writes it like an array, kernels and copies of
// every device use the same address, and the driver moves its pages to whoever touches them; prefetch() and advise()
// (managed_memory.hpp) tell it beforehand. Which of the two may touch it when is the program's to order: the host after
// the work that uses it is done. On devices without device_attribute::concurrent_managed_access the host must not touch
// any of it while anything runs there, unless it is attached otherwise.
// Destruction is that of a pinned_buffer: allowed while work still uses it, as far as weir queued that work or was told
// by used_on().
// T is trivially copyable. An empty one owns nothing. Move-only; moved-from and closed ones answer `closed` when used.
// Thread safety: as any object, except that copies from it may be queued from several threads.
// In a capture begun through weir: allowed, and no part of it; in others the driver refuses to make one, and drops the
// capture.
template <class T>
class managed_buffer {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "managed memory holds plain values");

 public:
  using value_type = T;

  // Of the primary context of the device; first for everyone, or for the host alone until it is attached to somebody.
  // Fails whole. cuMemAllocManaged.
  explicit managed_buffer(std::size_t size, device gpu = device{}, attachment first = attachment::everyone,
                          call_site at = call_site::current())
      : memory_{detail::reachable_kind::managed, size, sizeof(T), gpu, static_cast<unsigned>(first), at} {}

  // Never blocks: weir's own thread frees it when the streams that weir knows to use it are done, since a GPU's driver
  // waits for the whole device in that call (cuMemFree). What fails goes to on_unraised_error.
  managed_buffer(managed_buffer&&) noexcept = default;
  managed_buffer& operator=(managed_buffer&&) noexcept = default;

  // Frees it now, waiting for the streams that use it, and reports what fails. Does nothing a second time.
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

  // As an array.
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
