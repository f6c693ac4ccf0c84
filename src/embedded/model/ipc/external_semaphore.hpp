// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_semaphore.hpp - semaphores of other processes, in shared memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "driver/abi.hpp"
#include "os/semaphore_page.hpp"

namespace weir::embedded::model {

class stream;

// A semaphore in shared memory, imported by a file descriptor. Objects are reused
// (handle_table.hpp): open() begins a lifetime; close() ends it. The page is unmapped once
// submitted operations no longer use it.
//
// Thread safety: all members may be called from any thread; open() and close() of one object must
// not run concurrently.
class external_semaphore {
 public:
  // Takes over a descriptor of a segment that holds a semaphore of this kind
  // (semaphore_page::binary or ::timeline), and seals the segment's size. Returns false, without
  // taking the descriptor, if the segment holds no such semaphore or cannot be sealed.
  [[nodiscard]] bool open(int fd, std::uint32_t kind) noexcept;
  void close() noexcept;

  [[nodiscard]] weir::os::semaphore_page& page() const noexcept { return *page_; }

 private:
  friend class semaphore_reference;
  [[nodiscard]] bool add_reference() noexcept;
  void release_reference() noexcept;

  weir::os::semaphore_page* page_ = nullptr;
  // Counts unfinished operations, and the handle from open() to close().
  std::atomic<std::uint32_t> references_{0};
};

// Keeps the page of a semaphore mapped, even after the semaphore is closed. Move-only.
class semaphore_reference {
 public:
  // Refers to the semaphore of a handle; empty for an invalid handle.
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
  [[nodiscard]] weir::os::semaphore_page& page() const noexcept { return semaphore_->page(); }

 private:
  external_semaphore* semaphore_ = nullptr;
};

// A semaphore of a call, and the value to set or to wait for. Binary semaphores ignore the value.
struct semaphore_use {
  semaphore_reference semaphore;
  std::uint64_t value;
};

// Signals the semaphores when the earlier work of the stream is complete. Throws std::bad_alloc
// without submitting anything.
void submit_signals(stream& target_stream, std::vector<semaphore_use> uses);
// Makes later work of the stream wait for all of the semaphores. Throws std::bad_alloc without
// submitting anything.
void submit_waits(stream& target_stream, std::vector<semaphore_use> uses);

}  // namespace weir::embedded::model
