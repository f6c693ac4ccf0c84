// weir/core/deferred.hpp - destruction that has to wait for a better moment.
#pragma once

#include <weir/detail/export.hpp>

#include <cstddef>

namespace weir {
namespace detail {

// Something left to weir's own thread, linked into its queue. It frees itself when it is done.
enum class task_result : unsigned char { done, busy, capture_active };

struct deferred_task {
  deferred_task* next = nullptr;
  task_result (*run)(deferred_task& self) noexcept = nullptr;
  unsigned long long epoch : 63 =
      0;  // how often somebody had begun to wait for all when it was left
  bool runs_user_code : 1 =
      false;  // it ends objects of the program's, which may take as long as they like
};

}  // namespace detail

// Any object of weir may be destroyed at any time, in any order and on any thread. Where the driver
// call that this needs may not be made then, weir keeps the handle and makes the call later, on a
// thread of its own that sleeps otherwise:
//
//   in a host function         where CUDA calls are forbidden; the closures of host functions go
//   this way too during a capture           begun through weir: frees would break it, so they wait
//   until no such capture is open a buffer's free            that its stream's capture, or
//   anybody's, refuses: until its stream's has ended a stream that captures     until its capture
//   has ended: with the stream that it began in it would end unheard pinned memory until the copies
//   that use it are done; a GPU's driver waits for its device to free it, and
//                              may hold up calls of other threads meanwhile: drain before a stream
//                              is held for long
//   a buffer's free            if its stream cannot be made to wait for the others that used it,
//   until they are done streams, events, graphs    while that thread waits for a device itself, as
//   a GPU's driver may answer nobody else then
//
// Nothing has to be done for it. What is left at exit is done before the program ends, unless the
// driver has gone first. Nobody waits for a device then that stays busy: memory in use, and what a
// driver frees only when the device has nothing left to do (pinned and managed memory, mappings,
// modules), goes with the process while there is work; nor for ever for what other threads go on
// leaving. In the child of a fork nothing is destroyed or deferred: all that its copies name is the
// parent's.

// How many destructions are waiting or under way. Thread safety: from any thread.
[[nodiscard]] WEIR_EXPORT std::size_t deferred_count() noexcept;

// Waits until everything that was deferred before this call is done, with what that defers in its
// turn and without what others defer meanwhile, except what waits for a capture to end; blocks for
// pinned memory in use until its copies are done. For tests, before a library is unloaded, and
// before a kernel that spins until the host has done something: some of this has NVIDIA's driver
// wait for all kernels, with a lock held that launches need. In a host function: does nothing.
WEIR_EXPORT void drain_deferred() noexcept;

}  // namespace weir
