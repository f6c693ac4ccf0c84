// SPDX-License-Identifier: Apache-2.0
// model/stream/box_copy.hpp - 2D and 3D copies, in the common form of calls and graph nodes.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::model {

struct box_extent {
  std::size_t width, height, depth;

  [[nodiscard]] bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

// One side of a copy: a box in memory with rows of `pitch` bytes and slices of `rows` rows, or in
// an array with its own layout. If `pitch` is 0, a row ends where the box ends. If `rows` is 0, a
// slice ends with the last row of the box.
struct box_operand {
  abi::CUmemorytype type{};
  const void* host = nullptr;
  abi::CUdeviceptr device = 0;
  abi::CUarray array = nullptr;
  std::size_t x = 0, y = 0, z = 0;
  std::size_t level = 0;  // the mipmap level; must be 0, because an array has one level
  std::size_t pitch = 0, rows = 0;
};

// A copy in the common form of all calls.
struct box_copy {
  box_operand dst, src;
  box_extent size;
};

inline box_copy describe(const abi::CUDA_MEMCPY2D& c) {
  return {{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes, c.dstY, 0, 0,
           c.dstPitch, 0},
          {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes, c.srcY, 0, 0,
           c.srcPitch, 0},
          {c.WidthInBytes, c.Height, 1}};
}

// For CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
template <class Copy3D>
box_copy describe(const Copy3D& c) {
  return {{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes, c.dstY, c.dstZ,
           c.dstLOD, c.dstPitch, c.dstHeight},
          {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes, c.srcY, c.srcZ,
           c.srcLOD, c.srcPitch, c.srcHeight},
          {c.WidthInBytes, c.Height, c.Depth}};
}

// The reverse of describe().
inline abi::CUDA_MEMCPY3D description_of(const box_copy& copy) {
  const auto& [dst, src, size] = copy;
  return {.srcXInBytes = src.x,
          .srcY = src.y,
          .srcZ = src.z,
          .srcLOD = src.level,
          .srcMemoryType = src.type,
          .srcHost = src.host,
          .srcDevice = src.device,
          .srcArray = src.array,
          .reserved0 = nullptr,
          .srcPitch = src.pitch,
          .srcHeight = src.rows,
          .dstXInBytes = dst.x,
          .dstY = dst.y,
          .dstZ = dst.z,
          .dstLOD = dst.level,
          .dstMemoryType = dst.type,
          .dstHost = const_cast<void*>(dst.host),
          .dstDevice = dst.device,
          .dstArray = dst.array,
          .reserved1 = nullptr,
          .dstPitch = dst.pitch,
          .dstHeight = dst.rows,
          .WidthInBytes = size.width,
          .Height = size.height,
          .Depth = size.depth};
}

// Finds the memory of both sides of a copy whose box is not empty, the source first, and fills in
// `work`. The default `users` may access all memory. Returns CUDA_SUCCESS or an error.
abi::CUresult resolve_box(const box_copy& copy, memory_operand& dst, memory_operand& src,
                          pitched_copy_work& work, access_time access = access_time::now,
                          const copy_users& users = {});

}  // namespace weir::embedded::model
