// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/array.hpp - arrays: memory of a device that is addressed by element, row
// and slice.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

class context;

// An array. Its elements are packed, row after row and slice after slice; layers are slices.
// Programs never see the array's address. The address map has a record of it, so that the array can
// be found from the address in a copy.
//
// Objects are reused (handle_table.hpp). The members do not change during the lifetime of the
// array.
struct array {
  abi::CUDA_ARRAY3D_DESCRIPTOR descriptor{};  // as the program gave it; a missing extent is 0
  std::size_t element_bytes = 0;              // the format's size times the channels
  std::size_t row_bytes = 0;
  std::size_t rows = 0, slices = 0;  // at least 1
  allocation* memory = nullptr;

  [[nodiscard]] std::size_t slice_bytes() const noexcept { return row_bytes * rows; }
  [[nodiscard]] std::size_t bytes() const noexcept { return slice_bytes() * slices; }
  [[nodiscard]] abi::CUarray handle() const noexcept;
};

// Functions that return CUresult return the driver's codes. Thread safety: all functions may be
// called from any thread.
namespace arrays {

// Returns the array of a handle, or null.
[[nodiscard]] array* find(abi::CUarray handle) noexcept;

// Creates an array in memory of the context's device. Throws std::bad_alloc.
abi::CUresult create(context& owner_context, const abi::CUDA_ARRAY3D_DESCRIPTOR& requested,
                     abi::CUarray* out);

// Waits for the work of the array's context, then frees the array. Returns
// CUDA_ERROR_INVALID_HANDLE for another handle.
abi::CUresult destroy(abi::CUarray handle);

// Frees an array and its memory. The caller has already closed `record`, the array's record in the
// address map. `awaited`: the context for whose work the caller has waited.
void release(allocation& record, const context* awaited) noexcept;

}  // namespace arrays

}  // namespace weir::embedded::model
