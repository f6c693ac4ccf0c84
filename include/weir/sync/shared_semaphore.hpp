// SPDX-License-Identifier: Apache-2.0
// weir/sync/shared_semaphore.hpp - semaphores in shared memory, for threads, processes and embedded
// devices.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

namespace weir {
namespace os {
struct semaphore_page;
}

/// The kind of a semaphore.
enum class semaphore_kind : unsigned char {
  /// A counter that only grows. Any number of waiters can wait until it has at least a given value.
  timeline,
  binary,  ///< Signalled or not. A wait consumes the signal, so each signal releases one wait.
};

/// A semaphore in a segment of shared memory, identified by a file descriptor that can be sent to
/// another process. Threads signal it and wait for it with this class; streams of an embedded
/// device do so after importing it (weir/sync/external_semaphore.hpp). It is the embedded driver's
/// counterpart of a Vulkan semaphore; GPUs import only Vulkan semaphores. It needs no driver and no
/// device.
///
/// Move-only. A moved-from or closed object throws `closed` when used.
///
/// Thread safety: signal(), wait() and value() may be called from any thread of any process. Moving
/// and closing need external synchronisation.
class WEIR_EXPORT shared_semaphore {
 public:
  /// Creates a semaphore with the initial value `value`. A binary semaphore is signalled at first
  /// if the value is not 0. Allocates the shared memory with memfd_create.
  explicit shared_semaphore(semaphore_kind kind = semaphore_kind::timeline,
                            unsigned long long value = 0, call_site at = call_site::current());
  /// Takes ownership of a descriptor that another process sent. On failure the caller still owns
  /// the descriptor.
  ///
  /// Throws: `invalid_handle` if the descriptor is not that of a shared_semaphore, or if its memory
  /// is not sealed against truncation, as the memory of a shared_semaphore is.
  [[nodiscard]] static shared_semaphore adopt(int fd, call_site at = call_site::current());

  shared_semaphore(shared_semaphore&& other) noexcept;
  shared_semaphore& operator=(shared_semaphore&& other) noexcept;
  ~shared_semaphore();

  /// Closes this object's descriptor. The semaphore exists until the last object and descriptor of
  /// any process is closed. Does nothing if the object is closed already.
  void close() noexcept;
  /// Returns true if the object was closed or moved from.
  [[nodiscard]] bool closed() const noexcept { return page_ == nullptr; }

  /// Sets a timeline semaphore to `value`, which should be greater than the current value, or
  /// signals a binary semaphore.
  void signal(unsigned long long value = 1, call_site at = call_site::current()) const;

  /// Blocks until a timeline semaphore has at least `value`, or until a binary semaphore is
  /// signalled. A wait for a binary semaphore consumes the signal.
  void wait(unsigned long long value = 1, call_site at = call_site::current()) const;

  /// Like wait(), with a timeout. Returns false on timeout.
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, unsigned long long value = 1,
                              call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds(timeout), value, at);
  }

  /// Returns the current value of a timeline semaphore. For a binary semaphore returns 1 if it is
  /// signalled, else 0.
  [[nodiscard]] unsigned long long value(call_site at = call_site::current()) const;
  /// Returns the kind.
  [[nodiscard]] semaphore_kind kind(call_site at = call_site::current()) const;

  /// Returns the descriptor, which this object still owns.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// Returns a new descriptor of this semaphore, which the caller owns: send it to another process,
  /// or import it.
  [[nodiscard]] int duplicate_fd(call_site at = call_site::current()) const;

 private:
  shared_semaphore(int fd, os::semaphore_page* page) noexcept : fd_{fd}, page_{page} {}
  [[nodiscard]] os::semaphore_page& open_page(const char* call, call_site at) const;
  [[nodiscard]] bool wait_for_nanoseconds(long long timeout, unsigned long long value,
                                          call_site at) const;

  int fd_ = -1;                         ///< -1 if closed
  os::semaphore_page* page_ = nullptr;  ///< the mapped shared memory; null if closed
};

}  // namespace weir
