// SPDX-License-Identifier: Apache-2.0
// weir/variables.h - threadIdx and its kin. They are the host thread's own: a block runs on one thread of the host.
// Nothing takes their addresses, so that the compiler keeps them in registers once the kernel is part of the loop.
#pragma once

#define WEIR_TLS static __thread __attribute__((tls_model("local-dynamic"), unused))
WEIR_TLS uint3 threadIdx;
WEIR_TLS uint3 blockIdx;
WEIR_TLS uint3 blockDim;
WEIR_TLS uint3 gridDim;
WEIR_TLS const weir_block* weir_current;  // the block that runs
WEIR_TLS unsigned char* weir_dynamic;     // its dynamic shared memory
static const int warpSize __attribute__((unused)) = 32;

extern "C" WEIR_HIDDEN const weir_services* weir_driver;  // defined behind the source, with the table

WEIR_HD unsigned weir_linear_thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
WEIR_HD unsigned weir_block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
WEIR_HD unsigned weir_lane() { return weir_linear_thread() & 31; }
