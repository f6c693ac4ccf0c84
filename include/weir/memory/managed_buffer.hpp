// weir/memory/managed_buffer.hpp - memory with one address for the host and all devices, which
// moves to where it is used.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/host_accessible_memory.hpp>
#include <weir/detail/typed_memory.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/managed_memory.hpp>

#include <cstddef>

namespace weir {

// `size` elements of managed memory, uninitialised. The host reads and writes it like an array,
// kernels and copies of every device use the same address, and the driver moves its pages to
// whoever touches them; prefetch() and advise() (managed_memory.hpp) tell it beforehand. Which of
// the two may touch it when is the program's to order: the host after the work that uses it is
// done. On devices without device_attribute::concurrent_managed_access the host must not touch any
// of it while anything runs there, unless it is attached otherwise. Destruction is that of a
// pinned_buffer: allowed while work still uses it, as far as weir queued that work or was told by
// used_on(). T is trivially copyable. An empty one owns nothing. data(), [] and what else all
// buffers have: typed_memory.hpp. Move-only; moved-from and closed ones answer `closed` when used.
// Thread safety: as any object, except that copies from it may be queued from several threads.
// In a capture begun through weir: allowed, and no part of it; in others the driver refuses to make
// one, and drops the capture. Closing and destroying one harms none.
template <class T>
class managed_buffer : public detail::host_array<T, detail::host_accessible_memory> {
  using elements = detail::host_array<T, detail::host_accessible_memory>;

 public:
  // Of the primary context of the device; first for everyone, or for the host alone until it is
  // attached to somebody. Fails whole. cuMemAllocManaged.
  explicit managed_buffer(std::size_t size, device gpu = device{},
                          attachment first = attachment::global,
                          call_site at = call_site::current())
      : elements{detail::host_accessible_kind::managed, size, sizeof(T), gpu,
                 static_cast<unsigned>(first),          at} {}

  // Never blocks: weir's own thread frees it when the streams that weir knows to use it are done,
  // since a GPU's driver waits for the whole device in that call (cuMemFree). What fails goes to
  // set_unhandled_error_handler.
  managed_buffer(managed_buffer&&) noexcept = default;
  managed_buffer& operator=(managed_buffer&&) noexcept = default;

  // Frees it now, waiting for the streams that use it, and reports what fails. Does nothing a
  // second time. Refused (stream_capture_unsupported), with nothing changed, while a stream that
  // used it captures. cuEventSynchronize, cuMemFree.
  void close(call_site at = call_site::current()) { memory_.close(at); }

 private:
  using elements::memory_;
};

}  // namespace weir
