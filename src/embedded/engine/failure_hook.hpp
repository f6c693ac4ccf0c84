// engine/failure_hook.hpp - telling those who have to know at once that the device has failed.
#pragma once

namespace weir::embedded::engine {

// Is called once, by the thread that lets the device fail, after it has. There is room for a few
// such functions, which are never taken away; naming one again changes nothing.
void add_failure_hook(void (*hook)() noexcept) noexcept;

}  // namespace weir::embedded::engine
