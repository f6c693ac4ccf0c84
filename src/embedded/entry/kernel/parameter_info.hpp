// SPDX-License-Identifier: Apache-2.0
// embedded/entry/kernel/parameter_info.hpp - offsets and sizes of kernel parameters.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"

namespace weir::embedded::entry {

// Stores the offset of a parameter in the argument buffer, and its size unless `size` is null.
inline abi::CUresult get_parameter_info(const weir_kernel& kernel, std::size_t index,
                                        std::size_t* offset, std::size_t* size) noexcept {
  if (offset == nullptr || index >= kernel.parameter_count) return abi::CUDA_ERROR_INVALID_VALUE;
  *offset = kernel.parameters[index].offset;
  if (size != nullptr) *size = kernel.parameters[index].size;
  return abi::CUDA_SUCCESS;
}

}  // namespace weir::embedded::entry
