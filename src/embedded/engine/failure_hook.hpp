// SPDX-License-Identifier: Apache-2.0
// embedded/engine/failure_hook.hpp - functions to call when the device fails.
#pragma once

namespace weir::embedded::engine {

// Registers a function that is called once, by the thread that makes the device fail, after the
// failure is set. There is room for four functions, which are never removed; registering one again
// has no effect.
void add_failure_hook(void (*hook)() noexcept) noexcept;

}  // namespace weir::embedded::engine
