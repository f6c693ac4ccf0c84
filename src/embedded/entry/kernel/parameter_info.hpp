// entry/parameter_info.hpp - what is told of the parameters of kernels.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/kernel/image/module_abi.h"

namespace weir::embedded::entry {

// Where a parameter lies among them all, and its size, for which there may be no room.
inline abi::CUresult get_parameter_info(const weir_kernel& of, std::size_t index,
                                        std::size_t* offset, std::size_t* size) noexcept {
  if (offset == nullptr || index >= of.parameter_count) return abi::CUDA_ERROR_INVALID_VALUE;
  *offset = of.parameters[index].offset;
  if (size != nullptr) *size = of.parameters[index].size;
  return abi::CUDA_SUCCESS;
}

}  // namespace weir::embedded::entry
