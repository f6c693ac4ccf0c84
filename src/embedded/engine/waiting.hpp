// engine/waiting.hpp - how a thread of the program waits for work, and what has become of the
// device.
#pragma once

#include <atomic>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// A thread that sleeps until a timeline has come far enough.
struct sleeper {
  std::atomic<std::uint32_t> woken{0};
};

// Returns once the point is reached. The calling thread runs what has to run for that, as far as it
// may (host functions belong to the driver's own thread), and sleeps only where others are at work
// on it.
void wait(point target) noexcept;

// The same for a call by which the host asks to know: from now on it is known to it
// (timeline::is_known_to_host).
void wait_for_host(point target) noexcept;

// The same, up to where the thread would have to sleep or the device has failed. True if the point
// is reached.
bool try_wait_for_host(point target) noexcept;

// Runs what there is to run for it now, where the schedule lets waiting threads help, and does not
// wait. True where it leaves everything to them.
bool help_once(point target) noexcept;

// What the device failed with, CUDA_SUCCESS while it is well. As on a GPU, a failure ends every
// context of the process for good.
[[nodiscard]] abi::CUresult device_failure() noexcept;

// Lets the device fail. The first failure stands.
void fail_device(abi::CUresult code) noexcept;

}  // namespace weir::embedded::engine
