// SPDX-License-Identifier: Apache-2.0
// weir/core/deferred.hpp - destruction that is deferred until the driver call can be made.
#pragma once

#include <weir/detail/export.hpp>

#include <cstddef>

namespace weir {
namespace detail {

/// The result of deferred_task::run(): the task is finished, has to be tried again later, or has to
/// wait until no capture is active.
enum class task_result : unsigned char { done, busy, capture_active };

/// A task for the reclaimer thread, linked into the queue of that thread. It frees itself when it
/// is done.
struct deferred_task {
  deferred_task* next = nullptr;
  task_result (*run)(deferred_task& self) noexcept = nullptr;
  unsigned long long epoch : 63 = 0;  ///< value of the drain counter when the task was added
  /// Destroys objects of the program, which may take arbitrarily long.
  bool runs_user_code : 1 = false;
};

}  // namespace detail

// Any object of weir may be destroyed at any time, in any order and on any thread. If the driver
// call that this needs cannot be made then, weir keeps the handle and makes the call later, on its
// own thread, which sleeps otherwise. This happens to:
//
//   any object in a host function       CUDA calls are forbidden there. The closures of host
//                                       functions are destroyed this way too.
//   an object whose destruction would   Destroyed when no capture started through weir is open.
//   break a capture
//   a buffer whose free the driver      Freed when the capture of the buffer's stream has ended.
//   refuses because of a capture
//   a stream that captures              Destroyed when the capture has ended: destroying the stream
//                                       earlier would end the capture silently.
//   pinned memory that copies use       Freed when the copies have finished. To free it, a GPU's
//                                       driver waits for the device and may block calls of other
//                                       threads meanwhile: call drain_deferred() before you hold a
//                                       stream for long.
//   a buffer that other streams use     Freed when they have finished, if the buffer's own stream
//                                       cannot be made to wait for them.
//   streams, events and graphs while    Destroyed afterwards, because a GPU's driver may block
//   weir's thread waits for a device    other calls during the wait.
//
// The program need not do anything for this. At exit weir drains deferred destruction for at most a
// second; what is left goes with the process. A destructor of the program that has begun is waited
// for, because it may use statics. In the child of a fork nothing is destroyed or deferred, because
// all handles belong to the parent.

/// Returns the number of destructions that are waiting or running.
///
/// Thread safety: may be called from any thread.
[[nodiscard]] WEIR_EXPORT std::size_t deferred_count() noexcept;

/// Blocks until everything that was deferred before this call is done, including what those tasks
/// defer in turn. Does not wait for tasks that other threads defer meanwhile, nor for tasks that
/// wait for a capture to end. For pinned memory in use, blocks until its copies have finished.
///
/// Use it in tests, before a library is unloaded, and before a kernel that spins until the host
/// acts. Some of these tasks make NVIDIA's driver wait for all kernels while it holds a lock that
/// launches need.
///
/// In a host function: does nothing.
WEIR_EXPORT void drain_deferred() noexcept;

}  // namespace weir
