// model/array.hpp - arrays: memory of a device that is addressed by element, row and slice.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/memory/allocation.hpp"

namespace weir::embedded::model {

class context;

// An array. Its elements lie packed, row after row and slice after slice (layers are slices); no
// program ever sees their addresses, but the address map knows them, so that a copy can be traced
// back to its array.
//
// Objects are reused (handle_table.hpp); what is here does not change while the array lives.
struct array {
  abi::CUDA_ARRAY3D_DESCRIPTOR
      array_descriptor{};            // as the program did; an extent that the array has not is 0
  std::size_t element = 0;           // bytes: a format times the channels
  std::size_t row = 0;               // bytes
  std::size_t rows = 0, slices = 0;  // at least 1
  allocation* memory = nullptr;

  [[nodiscard]] std::size_t slice() const noexcept { return row * rows; }
  [[nodiscard]] std::size_t bytes() const noexcept { return slice() * slices; }
  [[nodiscard]] abi::CUarray handle() const noexcept;
};

// What follows answers in the driver's codes. Thread safety: all of it, from any thread.
namespace arrays {

// The array behind a handle; null where there is none.
[[nodiscard]] array* find(abi::CUarray handle) noexcept;

// Makes an array in memory of the context's device. Throws std::bad_alloc.
abi::CUresult create(context& in, const abi::CUDA_ARRAY3D_DESCRIPTOR& wanted, abi::CUarray* out);

// Waits for the work of its context, then frees it.
abi::CUresult destroy(abi::CUarray handle);

// Frees the memory of an array whose context ends. Its record is closed.
void release(allocation& record) noexcept;

}  // namespace arrays

}  // namespace weir::embedded::model
