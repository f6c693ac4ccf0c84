// SPDX-License-Identifier: Apache-2.0
// cases/memory/arrays.hpp - arrays destroyed at the end of a case, and copies to and from them.
#pragma once

#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

CUDA_ARRAY_DESCRIPTOR flat(size_t width, size_t height = 0,
                           CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8,
                           unsigned channels = 1);
CUDA_ARRAY3D_DESCRIPTOR solid(size_t width, size_t height, size_t depth, unsigned flags = 0,
                              CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8,
                              unsigned channels = 1);

class Array {
 public:
  CUarray a = nullptr;
  explicit Array(const CUDA_ARRAY_DESCRIPTOR& descriptor);
  explicit Array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array();
  operator CUarray() const { return a; }
  CUresult destroy();
};

// Creates an array, records the result, and destroys the array.
void rec_create(Rec& r, const std::string& key, const CUDA_ARRAY_DESCRIPTOR& descriptor);
void rec_create(Rec& r, const std::string& key, const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

// Return two-dimensional copies, `width` in bytes and `height` in rows; the host's rows are packed.
CUDA_MEMCPY2D to_array(CUarray dst, const void* src, size_t width, size_t height);
CUDA_MEMCPY2D from_array(void* dst, CUarray src, size_t width, size_t height);

// Return three-dimensional copies, with packed host rows and slices.
CUDA_MEMCPY3D to_array(CUarray dst, const void* src, size_t width, size_t height, size_t depth);
CUDA_MEMCPY3D from_array(void* dst, CUarray src, size_t width, size_t height, size_t depth);

// Pinned scratch memory: the first part counts up from a number, the second is cleared and receives
// copies.
unsigned char* counted(unsigned char first = 0, size_t bytes = 4096);
unsigned char* cleared(size_t bytes = 4096);

}  // namespace weir::conformance
