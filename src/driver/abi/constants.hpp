// driver/abi/constants.hpp - what <cuda.h> defines as macros, as constants with a type.
#pragma once

#include "driver/abi/enums.hpp"
#include "driver/abi/scalars.hpp"

namespace weir::abi {

#define WEIR_CONSTANT(type, name, value) inline constexpr type name = value;
#include "driver/abi/constants.def"
#undef WEIR_CONSTANT

// The two default streams, and the words that mark the entries of `extra` in a kernel launch. They
// are small numbers in the place of addresses, which no constant expression can hold.
inline const CUstream CU_STREAM_LEGACY = reinterpret_cast<CUstream>(std::uintptr_t{1});
inline const CUstream CU_STREAM_PER_THREAD = reinterpret_cast<CUstream>(std::uintptr_t{2});

inline void* const CU_LAUNCH_PARAM_END = nullptr;
inline void* const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void*>(std::uintptr_t{1});
inline void* const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void*>(std::uintptr_t{2});

}  // namespace weir::abi
