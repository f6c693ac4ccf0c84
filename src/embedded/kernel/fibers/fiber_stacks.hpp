// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/fiber_stacks.hpp - the stacks of the fibers of a thread of the host.
#pragma once

#include <cstddef>
#include <vector>

#include "embedded/kernel/fibers/fiber.hpp"

namespace weir::embedded::kernel {

// What a thread may need of its stack (CU_LIMIT_STACK_SIZE): one for the process, for blocks that
// begin later. Any thread.
void set_stack_limit(std::size_t bytes) noexcept;
[[nodiscard]] std::size_t stack_limit() noexcept;

// Stacks of one size with a page below each that cannot be touched, made when they are first asked
// for and kept. Pages of a stack that were never used take no memory.
//
// Thread safety: one thread at a time.
class fiber_stacks {
 public:
  fiber_stacks() = default;
  fiber_stacks(const fiber_stacks&) = delete;
  fiber_stacks& operator=(const fiber_stacks&) = delete;
  ~fiber_stacks() { release(); }

  // Sees to it that stacks have at least so many bytes. True if those that were given out before
  // are gone.
  bool require(std::size_t bytes) noexcept;

  // The stack of a number; the numbers should be dense. Throws std::bad_alloc.
  fiber_stack at(std::size_t number);

  // Is an address in a page below a stack? May be called by a signal handler of the thread.
  [[nodiscard]] bool is_below_one(const void* address) const noexcept;

 private:
  static constexpr std::size_t together = 32;  // stacks that are made with one call

  void release() noexcept;
  [[nodiscard]] std::size_t stride() const noexcept;

  std::size_t bytes_ = 0;
  std::vector<std::byte*> groups_;
};

}  // namespace weir::embedded::kernel
