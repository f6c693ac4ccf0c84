// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/thread_variables.hpp - where the thread-local variables of a module are for this
// thread.
#pragma once

#include <cstddef>

namespace weir::embedded::kernel {

// Static shared variables are such: a block runs on one thread of the host.
struct thread_variables {
  std::byte* first = nullptr;  // null where this thread has not used any yet
  std::size_t bytes = 0;
};

// Those of the loaded file that has this code.
[[nodiscard]] thread_variables variables_of_module(const void* code) noexcept;

}  // namespace weir::embedded::kernel
