// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/fault.hpp - what the processor refuses to do for a kernel or a copy fails the
// device, and not the process.
#pragma once

namespace weir::embedded::kernel {

// Puts handlers in place for SIGSEGV, SIGBUS, SIGFPE and SIGILL, once. A fault of a thread that
// runs no kernel and no guarded access (access_guard.hpp) goes to the handler that was there
// before, and has the effect that it would have had. Handlers that the program puts in place later
// see the faults of kernels, too, and should pass them on.
//
// Thread safety: any thread.
void watch_faults() noexcept;

// Sees to it that these signals are not blocked in the calling thread, where the processor's own
// could not be handled.
void let_faults_through() noexcept;

}  // namespace weir::embedded::kernel
