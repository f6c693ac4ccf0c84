// SPDX-License-Identifier: Apache-2.0
// reactor/event_pool.hpp - a pool of unused events for each context.
#pragma once

#include "driver/abi.hpp"
#include "driver/table.hpp"

#include <weir/core/errc.hpp>

#include <cstddef>
#include <span>

namespace weir::detail {

// The result of driver calls: success, or the error and the name of the call that failed.
struct driver_result {
  errc code = errc::success;
  const char* call = nullptr;
};

// The pool is keyed by a context's number, which is unique in the process. Its events have no
// timing; they end with their context or with the process.
//
// Thread safety: these functions may be called from any thread.

// Takes an event from the pool, or creates one with `context` current during the call.
[[nodiscard]] driver_result acquire_event(CUcontext context, unsigned long long number,
                                          CUevent& event);

// Returns events that have not failed to the pool. It keeps up to max_pooled_events for each
// context. Surplus events are destroyed. If there is no memory to store the events, all are
// destroyed.
inline constexpr std::size_t max_pooled_events = 16'384;
void release_events(unsigned long long number, std::span<const CUevent> events) noexcept;

// Destroys events, which may have failed.
void destroy_events(std::span<const CUevent> events) noexcept;

}  // namespace weir::detail
