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

// A semaphore behind a file descriptor. Objects are reused (handle_table.hpp): open() begins a life; close() ends it, and
// the page is unmapped once what was submitted is done with it.
//
// Thread safety: all members, from any thread; open() and close() not at the same time.
class external_semaphore {
 public:
  // Takes over a descriptor of a segment that holds a semaphore of the kind (semaphore_page::binary, ::timeline), and seals
  // the segment at its size. False, and the descriptor is still the caller's, where it does not or cannot be sealed.
  [[nodiscard]] bool open(int fd, std::uint32_t kind) noexcept;
  void close() noexcept;

  [[nodiscard]] weir::detail::semaphore_page& page() const noexcept { return *page_; }

 private:
  friend class held_semaphore;
  [[nodiscard]] bool hold() noexcept;
  void drop() noexcept;

  weir::detail::semaphore_page* page_ = nullptr;
  std::atomic<std::uint32_t> holders_{0};  // operations until they are done, and the handle, from open() to close()
};

// Holds the page of a semaphore, also when that is closed meanwhile. Move-only.
class held_semaphore {
 public:
  // Of the semaphore behind a handle; empty where there is none.
  explicit held_semaphore(abi::CUexternalSemaphore handle) noexcept;
  held_semaphore(held_semaphore&& other) noexcept : held_{std::exchange(other.held_, nullptr)} {}
  held_semaphore& operator=(held_semaphore&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~held_semaphore() {
    if (held_ != nullptr) held_->drop();
  }

  [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }
  [[nodiscard]] weir::detail::semaphore_page& page() const noexcept { return held_->page(); }

 private:
  external_semaphore* held_ = nullptr;
};

// One semaphore of a call, and the value: what it is set to, or what is waited for. A binary one has none.
struct semaphore_use {
  held_semaphore semaphore;
  std::uint64_t value;
};

// Sets the semaphores, in stream order, or holds the stream until all are there. Throw std::bad_alloc, and then nothing was
// submitted.
void submit_signals(stream& in, std::vector<semaphore_use> uses);
void submit_waits(stream& in, std::vector<semaphore_use> uses);

}  // namespace weir::embedded::model
