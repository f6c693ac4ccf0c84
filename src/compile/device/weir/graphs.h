// SPDX-License-Identifier: Apache-2.0
// weir/graphs.h - what kernels say to the graph in which they are, and to the launch behind them.
#pragma once

typedef unsigned long long cudaGraphConditionalHandle;

// Declared as in CUDA: sources for NVRTC declare it themselves.
extern "C" {
void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) __asm__("weir_set_condition");
inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
  weir_driver->set_condition(handle, value);
}
}

// A launch that may begin early begins here when all before it has ended: there is nothing to tell it, and nothing to wait for.
WEIR_HD void cudaTriggerProgrammaticLaunchCompletion() {}
WEIR_HD void cudaGridDependencySynchronize() {}
