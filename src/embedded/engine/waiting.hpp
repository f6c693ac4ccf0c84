// SPDX-License-Identifier: Apache-2.0
// embedded/engine/waiting.hpp - how a program thread waits for work, and the failure state of the
// device.
#pragma once

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// Returns when the point, a position in a timeline, is reached. If the schedule allows it, the
// calling thread runs the operations that the point needs, except host functions, which run on a
// thread of the driver. If it can run none of these operations for about 10 us, it sleeps.
void wait(point target) noexcept;

// Like wait(), for a call whose return tells the program that work is complete: also marks the
// point as known to the host (timeline::is_known_to_host).
void wait_for_host(point target) noexcept;

// Like wait_for_host(), but returns false where wait_for_host() would sleep until another thread
// wakes the caller. Under a deterministic schedule, the call runs operations until the point is
// reached, and returns false only if the device has failed and no operation can run.
bool try_wait_for_host(point target) noexcept;

// Runs operations that the point needs and that are ready now. The serial schedule runs none here.
// Under a deterministic schedule, runs up to 64 operations, which may be of any stream, and returns
// true: operations then run mainly in such calls, so the caller must call again instead of
// sleeping. Returns early after an operation that another thread runs, because the step has waited
// for it. Returns false under the other schedules.
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
