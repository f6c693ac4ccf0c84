// SPDX-License-Identifier: Apache-2.0
// cases/memory/arrays.cpp - arrays destroyed at the end of a case, and copies to and from them.
#include "cases/memory/arrays.hpp"

#include <cstring>
#include <utility>

namespace weir::conformance {

CUDA_ARRAY_DESCRIPTOR flat(size_t width, size_t height, CUarray_format format, unsigned channels) {
  return {width, height, format, channels};
}

CUDA_ARRAY3D_DESCRIPTOR solid(size_t width, size_t height, size_t depth, unsigned flags,
                              CUarray_format format, unsigned channels) {
  return {width, height, depth, format, channels, flags};
}

Array::Array(const CUDA_ARRAY_DESCRIPTOR& descriptor) { OK(cuArrayCreate(&a, &descriptor)); }
Array::Array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) { OK(cuArray3DCreate(&a, &descriptor)); }
Array::~Array() {
  if (a) cuArrayDestroy(a);
}
CUresult Array::destroy() { return cuArrayDestroy(std::exchange(a, nullptr)); }

void rec_create(Rec& r, const std::string& key, const CUDA_ARRAY_DESCRIPTOR& descriptor) {
  CUarray made = nullptr;
  if (r.k(key, cuArrayCreate(&made, &descriptor)) == CUDA_SUCCESS) OK(cuArrayDestroy(made));
}

void rec_create(Rec& r, const std::string& key, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  CUarray made = nullptr;
  if (r.k(key, cuArray3DCreate(&made, &descriptor)) == CUDA_SUCCESS) OK(cuArrayDestroy(made));
}

namespace {

// Sets the members common to both forms of a copy.
template <class Copy>
Copy host_to_array(CUarray dst, const void* src, size_t width, size_t height) {
  Copy copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = src;
  copy.srcPitch = width;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = dst;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

template <class Copy>
Copy array_to_host(void* dst, CUarray src, size_t width, size_t height) {
  Copy copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = src;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = dst;
  copy.dstPitch = width;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

}  // namespace

CUDA_MEMCPY2D to_array(CUarray dst, const void* src, size_t width, size_t height) {
  return host_to_array<CUDA_MEMCPY2D>(dst, src, width, height);
}

CUDA_MEMCPY2D from_array(void* dst, CUarray src, size_t width, size_t height) {
  return array_to_host<CUDA_MEMCPY2D>(dst, src, width, height);
}

CUDA_MEMCPY3D to_array(CUarray dst, const void* src, size_t width, size_t height, size_t depth) {
  auto copy = host_to_array<CUDA_MEMCPY3D>(dst, src, width, height);
  copy.srcHeight = height;
  copy.Depth = depth;
  return copy;
}

CUDA_MEMCPY3D from_array(void* dst, CUarray src, size_t width, size_t height, size_t depth) {
  auto copy = array_to_host<CUDA_MEMCPY3D>(dst, src, width, height);
  copy.dstHeight = height;
  copy.Depth = depth;
  return copy;
}

unsigned char* counted(unsigned char first, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) g.pin[i] = static_cast<unsigned char>(first + i);
  return g.pin;
}

unsigned char* cleared(size_t bytes) {
  unsigned char* out = g.pin + kScratch / 2;
  memset(out, 0, bytes);
  return out;
}

}  // namespace weir::conformance
