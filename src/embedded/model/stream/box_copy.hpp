// model/box_copy.hpp - copies of boxes of bytes out of larger ones, as calls and graph nodes
// describe them.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::model {

struct box_extent {
  std::size_t width, height, depth;

  [[nodiscard]] bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

// One side of a copy: a box in rows of `pitch` bytes and slices of `rows` rows, or in an array,
// whose rows and slices are its own. No pitch and no rows mean that there is nothing beside the
// box.
struct box_operand {
  abi::CUmemorytype type{};
  const void* host = nullptr;
  abi::CUdeviceptr device = 0;
  abi::CUarray array = nullptr;
  std::size_t x = 0, y = 0, z = 0;
  std::size_t level = 0;  // of detail; an array has one
  std::size_t pitch = 0, rows = 0;
};

// A copy as all the calls describe it.
struct box_copy {
  box_operand to, from;
  box_extent size;
};

inline box_copy describe(const abi::CUDA_MEMCPY2D& c) {
  return {{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes, c.dstY, 0, 0,
           c.dstPitch, 0},
          {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes, c.srcY, 0, 0,
           c.srcPitch, 0},
          {c.WidthInBytes, c.Height, 1}};
}

// CUDA_MEMCPY3D, or the same with contexts.
template <class Copy3D>
box_copy describe(const Copy3D& c) {
  return {{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes, c.dstY, c.dstZ,
           c.dstLOD, c.dstPitch, c.dstHeight},
          {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes, c.srcY, c.srcZ,
           c.srcLOD, c.srcPitch, c.srcHeight},
          {c.WidthInBytes, c.Height, c.Depth}};
}

// Finds both sides of a box that is not empty, the source first. CUDA_SUCCESS and the work, or what
// is wrong with the copy.
abi::CUresult resolve_box(const box_copy& copy, memory_operand& to, memory_operand& from,
                          pitched_copy_work& work, access_time when = access_time::now,
                          const copy_users& by = {});

}  // namespace weir::embedded::model
