// SPDX-License-Identifier: Apache-2.0
// driver/abi/constants.hpp - the macros of <cuda.h> as typed constants.
#pragma once

#include "driver/abi/enums.hpp"
#include "driver/abi/scalars.hpp"

namespace weir::abi {

#define WEIR_CONSTANT(type, name, value) inline constexpr type name = value;
#include "driver/abi/constants.def"
#undef WEIR_CONSTANT

// The two default streams, and the markers of the entries of `extra` in a kernel launch. They are
// small numbers cast to pointers, which is not allowed in a constant expression.
inline const CUstream CU_STREAM_LEGACY = reinterpret_cast<CUstream>(std::uintptr_t{1});
inline const CUstream CU_STREAM_PER_THREAD = reinterpret_cast<CUstream>(std::uintptr_t{2});

inline void* const CU_LAUNCH_PARAM_END = nullptr;
inline void* const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void*>(std::uintptr_t{1});
inline void* const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void*>(std::uintptr_t{2});

}  // namespace weir::abi
