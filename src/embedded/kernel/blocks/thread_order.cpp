// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/thread_order.cpp - the order of threads that the environment asks for.
#include "embedded/kernel/blocks/thread_order.hpp"

namespace weir::embedded::kernel {

namespace {
constinit thread_order configured;
}

void configure(thread_order how) noexcept { configured = how; }
thread_order configured_order() noexcept { return configured; }

}  // namespace weir::embedded::kernel
