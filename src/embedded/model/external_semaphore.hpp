// model/external_semaphore.hpp - semaphores that somebody else made, in memory shared with him.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "driver/abi.hpp"
#include "driver/semaphore_page.hpp"

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

  // Each operation holds the page until it is done; so does the handle, from open() to close().
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept;

 private:
  weir::detail::semaphore_page* page_ = nullptr;
  std::atomic<std::uint32_t> holders_{0};
};

// One semaphore of a call, and the value: what it is set to, or what is waited for. A binary one has none.
struct semaphore_use {
  external_semaphore* semaphore;
  std::uint64_t value;
};

// Sets the semaphores, in stream order, or holds the stream until all are there. Throw std::bad_alloc, and then nothing was
// submitted.
void submit_signals(stream& in, std::span<const semaphore_use> uses);
void submit_waits(stream& in, std::span<const semaphore_use> uses);

}  // namespace weir::embedded::model
