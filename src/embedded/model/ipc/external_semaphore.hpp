// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/external_semaphore.hpp - semaphores of other processes, in shared memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/abi.hpp"
#include "os/semaphore_page.hpp"
#include "os/spin_lock.hpp"

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
  // taking the descriptor, if the segment holds no such semaphore or cannot be sealed. Throws
  // std::bad_alloc without taking the descriptor.
  [[nodiscard]] bool open(int fd, std::uint32_t kind);
  // Called after the handle was retired.
  void close() noexcept;

  // Returns the page of a semaphore, which stays mapped while the returned pointer exists. Returns
  // null for an invalid handle.
  [[nodiscard]] static std::shared_ptr<weir::os::semaphore_page> find(
      abi::CUexternalSemaphore handle) noexcept;

 private:
  weir::os::spin_lock lock_;  // guards page_
  std::shared_ptr<weir::os::semaphore_page> page_;
};

// A semaphore of a call, and the value to set or to wait for. Binary semaphores ignore the value.
struct semaphore_use {
  std::shared_ptr<weir::os::semaphore_page> page;
  std::uint64_t value;
};

// Signals the semaphores when the earlier work of the stream is complete. Throws std::bad_alloc
// without submitting anything.
void submit_signals(stream& target_stream, std::vector<semaphore_use> uses);
// Makes later work of the stream wait for all of the semaphores. Throws std::bad_alloc without
// submitting anything.
void submit_waits(stream& target_stream, std::vector<semaphore_use> uses);

}  // namespace weir::embedded::model
