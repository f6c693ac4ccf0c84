// weir/sync/shared_semaphore.hpp - semaphores in shared memory, between threads, processes and
// embedded devices.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

namespace weir {
namespace detail {
struct semaphore_page;
}

// What a semaphore counts.
enum class semaphore_kind : unsigned char {
  timeline,  // a value that grows; one waits until it is at least so high, as often and by as many
             // as one likes
  binary,    // signalled or not; a wait takes the signal away, so each signal lets one wait go on
};

// A semaphore that lives in a segment of shared memory and is known by a file descriptor, which can
// be sent to another process. Threads signal and await it here; the streams of an embedded device
// do when it is imported there (external_semaphore.hpp). So it is on the embedded driver what a
// Vulkan semaphore is on a GPU, which imports only those. It needs no driver and no device.
// Move-only; moved-from and closed ones answer `closed` when used.
// Thread safety: signal, wait and value from any thread and any process; moving and closing as any
// object.
class WEIR_EXPORT shared_semaphore {
 public:
  // A new one, with a value; a binary one is signalled if that is not 0. memfd_create.
  explicit shared_semaphore(semaphore_kind kind = semaphore_kind::timeline,
                            unsigned long long value = 0, call_site at = call_site::current());
  // Takes over a descriptor that another process sent; not if it fails (invalid_handle: it is of no
  // semaphore, or of memory that could still be cut short under those who use it, which a
  // semaphore's never can).
  [[nodiscard]] static shared_semaphore adopt(int fd, call_site at = call_site::current());

  shared_semaphore(shared_semaphore&& other) noexcept;
  shared_semaphore& operator=(shared_semaphore&& other) noexcept;
  ~shared_semaphore();

  // Lets go of it; the others that share it keep it. Does nothing a second time.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return page_ == nullptr; }

  // Sets a timeline to the value, which should be higher than what it has, or signals a binary one.
  void signal(unsigned long long value = 1, call_site at = call_site::current()) const;

  // Blocks until a timeline has at least the value, or takes the signal of a binary one.
  void wait(unsigned long long value = 1, call_site at = call_site::current()) const;

  // The same with an end: false if the time passed first.
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, unsigned long long value = 1,
                              call_site at = call_site::current()) const {
    return wait_for_nanoseconds(detail::nanoseconds(timeout), value, at);
  }

  // What a timeline has now; of a binary one, 1 if it is signalled.
  [[nodiscard]] unsigned long long value(call_site at = call_site::current()) const;
  [[nodiscard]] semaphore_kind kind(call_site at = call_site::current()) const;

  // The descriptor, which stays this object's, or another one for the same semaphore, which is the
  // caller's: to be sent to another process, or imported.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] int duplicate_fd(call_site at = call_site::current()) const;

 private:
  shared_semaphore(int fd, detail::semaphore_page* page) noexcept : fd_{fd}, page_{page} {}
  [[nodiscard]] detail::semaphore_page& open_page(const char* call, call_site at) const;
  [[nodiscard]] bool wait_for_nanoseconds(long long timeout, unsigned long long value,
                                          call_site at) const;

  int fd_ = -1;
  detail::semaphore_page* page_ = nullptr;
};

}  // namespace weir
