// SPDX-License-Identifier: Apache-2.0
// weir/core/deferred.hpp - destruction that is deferred until the driver call can be made.
#pragma once

#include <weir/detail/export.hpp>

#include <cstddef>

namespace weir {
namespace detail {

/// The result of deferred_task::run(). `done`: the task is finished and has freed itself. `busy`:
/// the reclaimer thread has to call run() again. `capture_active`: as `busy`, but the task waits
/// for a capture to end, so drain_deferred() does not wait for the task.
enum class task_result : unsigned char { done, busy, capture_active };

/// A task for the reclaimer thread, weir's own thread that makes deferred driver calls. The tasks
/// form a linked list. run() frees the task when it returns `done`.
struct deferred_task {
  deferred_task* next = nullptr;
  task_result (*run)(deferred_task& self) noexcept = nullptr;
  unsigned long long epoch : 63 = 0;  ///< value of the counter of drains when the task was added
  /// True if run() calls destructors of the program, which may take arbitrarily long.
  bool runs_user_code : 1 = false;
};

}  // namespace detail

// Any object of weir may be destroyed at any time, in any order and on any thread. If the driver
// call of the destructor is not allowed at that time, weir keeps the handle. weir's own thread,
// which sleeps otherwise, makes the call later. This happens to:
//
//   any object in a host function       CUDA calls are forbidden there. Therefore weir's thread
//                                       destroys the function objects of host functions, too.
//   an object whose destruction would   Destroyed when no capture started through weir is open.
//   break a capture
//   a buffer whose free the driver      Freed when the capture of the buffer's stream has ended.
//   refuses because of a capture
//   a stream that captures              Destroyed when the capture has ended: destroying the stream
//                                       earlier would end the capture silently.
//   pinned memory that copies use       Freed when the copies have finished. To free it, a GPU's
//                                       driver waits for the device and may block calls of other
//                                       threads meanwhile. Call drain_deferred() before work that
//                                       blocks a stream for long, such as wait_value().
//   a buffer that other streams use     Freed when the work of the other streams has finished, if
//                                       the buffer's own stream cannot be made to wait for them.
//   streams, events and graphs while    Destroyed after the wait, because a GPU's driver may block
//   weir's thread waits for a device    other calls during the wait.
//
// The program need not do anything for this. At exit weir waits at most one second for deferred
// destructions; the end of the process frees the rest. If weir's thread is running a destructor of
// the program, exit waits until the destructor returns, because it may use static objects. In the
// child of a fork nothing is destroyed or deferred, because all handles belong to the parent.

/// Returns the number of destructions that are waiting or running.
///
/// Thread safety: may be called from any thread.
[[nodiscard]] WEIR_EXPORT std::size_t deferred_count() noexcept;

/// Blocks until everything that was deferred before this call is done, including what those tasks
/// defer in turn. Does not wait for tasks that other threads defer meanwhile, nor for tasks that
/// wait for a capture to end. For pinned memory in use, blocks until its copies have finished.
///
/// Use it in tests, before a library is unloaded, and before a kernel that spins until the host
/// acts. Some deferred tasks make NVIDIA's driver wait for all kernels while it holds a lock that
/// launches need.
///
/// In a host function: does nothing.
WEIR_EXPORT void drain_deferred() noexcept;

}  // namespace weir
