// engine/failure_hook.hpp - telling who runs code of the program's that the device has failed.
#pragma once

namespace weir::embedded::engine {

// Is called once, by the thread that lets the device fail, after it has.
void call_on_failure(void (*what)() noexcept) noexcept;

}  // namespace weir::embedded::engine
