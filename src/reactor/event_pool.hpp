// reactor/event_pool.hpp - events of a context that nobody uses just now.
#pragma once

#include "driver/abi.hpp"
#include "driver/table.hpp"

#include <weir/core/errc.hpp>

#include <cstddef>
#include <span>

namespace weir::detail {

// How a call of the driver went; which one, if it failed.
struct driver_result {
  errc code = errc::success;
  const char* call = nullptr;
};

// By the context's number, which no other context ever has. Events are untimed; they end with their
// context, or with the process. Thread safety: all of them, from any thread.

// One of them, or a new one, made with the context current for that long.
[[nodiscard]] driver_result acquire_event(CUcontext context, unsigned long long number,
                                          CUevent& event);

// Gives back events that are good. So many of a context are kept; those beyond, or without memory
// to note them down, are destroyed.
inline constexpr std::size_t max_pooled_events = 16'384;
void release_events(unsigned long long number, std::span<const CUevent> events) noexcept;

// Ends events that may be good for nothing any more.
void destroy_events(std::span<const CUevent> events) noexcept;

}  // namespace weir::detail
