// SPDX-License-Identifier: Apache-2.0
// weir/prelude.h - what CUDA C source has without an include, for kernels that run on the host's processor. Included
// before every source; includes nothing of the standard library.
#pragma once

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __WEIR_EMBEDDED__ 1

// The words that the scanner looks for stay in the preprocessed source; as macros they answer to #ifdef.
#define __global__ __global__
#define __device__ __device__
#define __host__ __host__
#define __constant__ __constant__
#define __managed__ __managed__
#define __shared__ __shared__
#define __launch_bounds__ __launch_bounds__
#define __cluster_dims__ __cluster_dims__
#define __maxnreg__ __maxnreg__
#define __grid_constant__ __grid_constant__
#define __forceinline__ __forceinline__
#define __noinline__ __noinline__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))

#define WEIR_HD static inline __attribute__((always_inline, unused))
#define WEIR_HIDDEN __attribute__((visibility("hidden")))

#if !defined(__clang__)
#define __builtin_assume(condition)            \
  do {                                         \
    if (!(condition)) __builtin_unreachable(); \
  } while (0)
#endif

#if !defined(__NO_INLINE__)
#define __NO_INLINE__ 1  // the C library's headers then define no functions that are defined here
#endif

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

// In the order in which they need each other.
// clang-format off
#include "module_abi.h"
#include "types.h"
#include "vectors.h"
#include "variables.h"
#include "integers.h"
#include "casts.h"
#include "maths.h"
#include "threads.h"
#include "atomics.h"
#include "memory.h"
#include "graphs.h"
#include "module.h"
#if defined(__WEIR_DEBUG__)
#include "alignment.h"
#endif
// clang-format on
