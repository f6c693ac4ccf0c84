// SPDX-License-Identifier: Apache-2.0
// api/deferred/free_backlog.hpp - the bound on memory that waits for a driver call to free it.
#pragma once

#include <atomic>
#include <cstddef>

namespace weir::detail {

// Memory and modules that their owners have destroyed and that the driver has not freed yet. A free
// waits for the whole device, so a program can cause frees faster than the device lets them happen.
//
// Thread safety: all members may be called from any thread.
class free_backlog {
 public:
  // The backlog above which wait_if_long() waits.
  static constexpr std::size_t max_count = 256;
  static constexpr std::size_t max_bytes = std::size_t{256} << 20U;

  [[nodiscard]] static free_backlog& instance() noexcept;

  void add(std::size_t bytes) noexcept;
  void remove(std::size_t bytes) noexcept;

  // Called before memory is allocated that may add to the backlog. While the backlog is above its
  // maximum, waits until memory was freed, but at most 100 ms: the caller may have stopped the
  // device itself and may let it continue only after this call. Does not wait while a capture is
  // open, which defers the frees, nor in a destructor of the program that the reclaimer thread
  // runs, nor on a thread with a sync_guard.
  void wait_if_long() const noexcept;

 private:
  [[nodiscard]] bool is_long() const noexcept;

  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace weir::detail
