// weir/sync/external_semaphore.hpp - semaphores of other interfaces and processes, signalled and
// awaited by streams.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>
#include <weir/sync/shared_semaphore.hpp>

namespace weir {

// A semaphore that somebody else made, imported by its file descriptor, so that streams wait for
// his work and he for theirs without a host thread in between. On a GPU: one that Vulkan exported
// (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT; binary and timeline semaphores alike). On an
// embedded device: a shared_semaphore. Move-only; moved-from and closed ones answer `closed` when
// used. Thread safety: signal and wait from any thread; moving and closing as any object.
class WEIR_EXPORT external_semaphore {
 public:
  // Imports a semaphore of that kind. On success the descriptor belongs to the driver and is not to
  // be closed or used any more; where the import is refused it is still the caller's, as with
  // external_memory::import_fd(). Importing one twice gives two objects of one semaphore. In a host
  // function: refused. In a capture: allowed, in whatever thread. cuImportExternalSemaphore.
  external_semaphore(device gpu, semaphore_kind kind, int fd, call_site at = call_site::current());
  // The same with a descriptor of its own for a semaphore of ours: embedded devices only.
  external_semaphore(device gpu, const shared_semaphore& shared,
                     call_site at = call_site::current());

  external_semaphore(external_semaphore&& other) noexcept;
  external_semaphore& operator=(external_semaphore&& other) noexcept;
  // What streams were told to do with it should be done by then. What fails goes to
  // set_unhandled_error_handler.
  ~external_semaphore();

  // Lets go of it and reports what fails; does nothing a second time. Harms no capture.
  // cuDestroyExternalSemaphore.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept;

  // When all work queued so far in the stream is done, sets a timeline to the value or signals a
  // binary semaphore. Does not block. In a capture on a GPU: becomes a node of the graph; on an
  // embedded device: refused (not_supported), and the capture lives on.
  // cuSignalExternalSemaphoresAsync.
  void signal(stream_ref in, unsigned long long value = 1,
              call_site at = call_site::current()) const;

  // Later work of the stream starts once a timeline has at least the value, or with the signal of a
  // binary semaphore, which it takes. Does not block; the stream waits for as long as nobody
  // signals. In a capture: as signal(). cuWaitExternalSemaphoresAsync.
  void wait(stream_ref in, unsigned long long value = 1, call_site at = call_site::current()) const;

  [[nodiscard]] CUextSemaphore_st* get() const noexcept { return handle_; }

 private:
  CUextSemaphore_st* handle_;
};

}  // namespace weir
