// model/external_semaphore.hpp - semaphores that somebody else made, in memory shared with him.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "driver/abi.hpp"
#include "os/semaphore_page.hpp"

namespace weir::embedded::model {

class stream;

// A semaphore behind a file descriptor. Objects are reused (handle_table.hpp): open() begins a
// life; close() ends it, and the page is unmapped once what was submitted is done with it.
//
// Thread safety: all members, from any thread; open() and close() not at the same time.
class external_semaphore {
 public:
  // Takes over a descriptor of a segment that holds a semaphore of the kind
  // (semaphore_page::binary, ::timeline), and seals the segment at its size. False, and the
  // descriptor is still the caller's, where it does not or cannot be sealed.
  [[nodiscard]] bool open(int fd, std::uint32_t kind) noexcept;
  void close() noexcept;

  [[nodiscard]] weir::detail::semaphore_page& page() const noexcept { return *page_; }

 private:
  friend class semaphore_reference;
  [[nodiscard]] bool add_reference() noexcept;
  void release_reference() noexcept;

  weir::detail::semaphore_page* page_ = nullptr;
  std::atomic<std::uint32_t> references_{
      0};  // operations until they are done, and the handle, from open() to close()
};

// Holds the page of a semaphore, also when that is closed meanwhile. Move-only.
class semaphore_reference {
 public:
  // Of the semaphore behind a handle; empty where there is none.
  explicit semaphore_reference(abi::CUexternalSemaphore handle) noexcept;
  semaphore_reference(semaphore_reference&& other) noexcept
      : semaphore_{std::exchange(other.semaphore_, nullptr)} {}
  semaphore_reference& operator=(semaphore_reference&& other) noexcept {
    std::swap(semaphore_, other.semaphore_);
    return *this;
  }
  ~semaphore_reference() {
    if (semaphore_ != nullptr) semaphore_->release_reference();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return semaphore_ != nullptr; }
  [[nodiscard]] weir::detail::semaphore_page& page() const noexcept { return semaphore_->page(); }

 private:
  external_semaphore* semaphore_ = nullptr;
};

// One semaphore of a call, and the value: what it is set to, or what is waited for. A binary one
// has none.
struct semaphore_use {
  semaphore_reference semaphore;
  std::uint64_t value;
};

// Sets the semaphores, in stream order, or holds the stream until all are there. Throw
// std::bad_alloc, and then nothing was submitted.
void submit_signals(stream& in, std::vector<semaphore_use> uses);
void submit_waits(stream& in, std::vector<semaphore_use> uses);

}  // namespace weir::embedded::model
