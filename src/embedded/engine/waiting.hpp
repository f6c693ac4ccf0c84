// SPDX-License-Identifier: Apache-2.0
// embedded/engine/waiting.hpp - how a program thread waits for work, and the failure state of the
// device.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// A thread that sleeps until a timeline reaches a count.
struct sleeper {
  std::atomic<std::uint32_t> woken{0};
};

// Returns when the point is reached. The calling thread runs the operations that this needs, except
// host functions, which belong to the driver's own thread. It sleeps only while other threads run
// the remaining ones.
void wait(point target) noexcept;

// Like wait(), for a call whose return tells the program that work is complete: also marks the
// point as known to the host (timeline::is_known_to_host).
void wait_for_host(point target) noexcept;

// Like wait_for_host(), but returns instead of sleeping, and when the device fails. Returns true if
// the point is reached.
bool try_wait_for_host(point target) noexcept;

// Runs operations that the point needs and that are ready now, if the schedule lets waiting threads
// run operations; does not wait. Returns true if the schedule runs operations only in such calls.
bool run_ready_operations(point target) noexcept;

// Returns the device's failure; CUDA_SUCCESS if there is none. As on a GPU, a failure makes every
// context of the process permanently unusable.
[[nodiscard]] abi::CUresult device_failure() noexcept;

// Makes the device fail. The first failure is kept.
void fail_device(abi::CUresult code) noexcept;

// Registers a function that is called once, by the thread that makes the device fail, after the
// failure is set. There is room for four functions, which are never removed; registering one again
// has no effect.
void add_failure_hook(void (*hook)() noexcept) noexcept;

}  // namespace weir::embedded::engine
