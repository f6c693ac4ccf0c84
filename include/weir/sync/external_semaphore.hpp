// SPDX-License-Identifier: Apache-2.0
// weir/sync/external_semaphore.hpp - semaphores of other APIs and processes that streams signal and
// wait for.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>
#include <weir/sync/shared_semaphore.hpp>

namespace weir {

/// A semaphore imported by its file descriptor. Streams wait for work of the API or process that
/// exported it, and that exporter waits for work of the streams, without a host thread in between.
/// On a GPU it is a semaphore exported by Vulkan (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
/// binary or timeline). On an embedded device it is a shared_semaphore.
///
/// Move-only. A moved-from or closed object throws `closed` when used.
///
/// Thread safety: signal() and wait() may be called from any thread. Moving and closing need
/// external synchronisation.
class WEIR_EXPORT external_semaphore {
 public:
  /// Imports the semaphore of the given kind that `fd` refers to. On success the driver owns the
  /// descriptor: do not use or close it any more. If the import fails, the caller still owns the
  /// descriptor, as with external_memory::import_fd(). A semaphore may be imported several times;
  /// all objects then refer to the one semaphore.
  ///
  /// In a capture: allowed on any thread.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuImportExternalSemaphore.
  external_semaphore(device gpu, semaphore_kind kind, int fd, call_site at = call_site::current());
  /// Imports a shared_semaphore by a duplicate of its descriptor; `shared` stays open. Embedded
  /// devices only.
  ///
  /// In a capture: allowed on any thread.
  /// In a host function: throws `not_permitted`.
  /// Driver: cuImportExternalSemaphore.
  external_semaphore(device gpu, const shared_semaphore& shared,
                     call_site at = call_site::current());

  external_semaphore(external_semaphore&& other) noexcept;
  external_semaphore& operator=(external_semaphore&& other) noexcept;
  /// Releases the semaphore. On a GPU the program must first wait for all signals and waits that
  /// were queued on it. On an embedded device they may still be pending. Errors go to
  /// set_unhandled_error_handler.
  ~external_semaphore();

  /// Releases the semaphore now. Does nothing if the object is closed already.
  ///
  /// Throws: the driver's error.
  /// In a capture: allowed; the capture stays valid.
  /// Driver: cuDestroyExternalSemaphore.
  void close(call_site at = call_site::current());
  /// Returns true if the object was closed or moved from.
  [[nodiscard]] bool closed() const noexcept;

  /// Queues a signal after all work queued so far in the stream: sets a timeline semaphore to
  /// `value`, or signals a binary one. Does not block.
  ///
  /// In a capture: on a GPU, becomes a node of the graph. On an embedded device throws
  /// `not_supported`; the capture stays valid.
  /// Driver: cuSignalExternalSemaphoresAsync.
  void signal(stream_ref stream, unsigned long long value = 1,
              call_site at = call_site::current()) const;

  /// Makes later work of the stream wait until a timeline semaphore has at least `value`, or until
  /// a binary one is signalled. A wait for a binary semaphore consumes the signal. Does not block
  /// the host. The stream waits indefinitely if no signal comes.
  ///
  /// In a capture: as signal().
  /// Driver: cuWaitExternalSemaphoresAsync.
  void wait(stream_ref stream, unsigned long long value = 1,
            call_site at = call_site::current()) const;

  /// Returns the raw handle.
  [[nodiscard]] CUextSemaphore_st* get() const noexcept { return handle_; }

 private:
  CUextSemaphore_st* handle_;
};

}  // namespace weir
