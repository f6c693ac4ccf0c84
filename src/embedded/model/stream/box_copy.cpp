// SPDX-License-Identifier: Apache-2.0
// model/stream/box_copy.cpp - resolves the memory of both sides of a box copy.
#include "embedded/model/stream/box_copy.hpp"

#include "embedded/model/memory/array.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// The memory of one side of a copy, and the distances of its rows and slices in bytes.
struct side_layout {
  memory_operand operand;
  std::size_t pitch = 0, slice = 0;
};

// Returns true if [begin, begin + count) lies in [0, end).
bool lies_in(std::size_t begin, std::size_t count, std::size_t end) {
  return count <= end && begin <= end - count;
}

// Finds the memory of a box in an array. The box may begin and end within an element.
CUresult lay_out_in_array(const box_operand& operand, const box_extent& size, side_layout& out) {
  const array* const source_array = arrays::find(operand.array);
  if (source_array == nullptr || operand.level != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!lies_in(operand.x, size.width, source_array->row_bytes) ||
      !lies_in(operand.y, size.height, source_array->rows) ||
      !lies_in(operand.z, size.depth, source_array->slices)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out.pitch = source_array->row_bytes;
  out.slice = source_array->slice_bytes();
  const std::uintptr_t offset = operand.z * out.slice + operand.y * out.pitch + operand.x;
  out.operand = {reinterpret_cast<std::byte*>(source_array->memory->start() + offset),
                 source_array->memory};
  return CUDA_SUCCESS;
}

// Checks the sizes of one side of a copy, and finds the memory that the box spans.
CUresult resolve_box(const box_operand& operand, const box_extent& size,
                     CUmemAccess_flags requested, access_time access, const memory_user& user,
                     side_layout& out) {
  if (operand.type == CU_MEMORYTYPE_ARRAY) return lay_out_in_array(operand, size, out);
  constexpr std::size_t max_pitch = 0x7fff'ffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH
  const bool on_host = operand.type == CU_MEMORYTYPE_HOST;
  if (!on_host && operand.type != CU_MEMORYTYPE_DEVICE && operand.type != CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr base = on_host ? reinterpret_cast<CUdeviceptr>(operand.host) : operand.device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;

  bool overflows = false;
  const auto multiply_add = [&](std::size_t a, std::size_t b, std::size_t c) {
    std::size_t result = 0;
    overflows |= __builtin_mul_overflow(a, b, &result);
    overflows |= __builtin_add_overflow(result, c, &result);
    return result;
  };
  const std::size_t row_end = multiply_add(1, operand.x, size.width);
  const std::size_t slice_end = multiply_add(1, operand.y, size.height);
  const bool one_row = size.height == 1 && size.depth == 1;  // a single row needs no pitch
  if (operand.pitch > max_pitch && !one_row) return CUDA_ERROR_INVALID_VALUE;
  out.pitch = operand.pitch != 0 ? operand.pitch : row_end;
  const std::size_t rows = operand.rows != 0 ? operand.rows : slice_end;
  if (out.pitch < row_end || rows < slice_end) return CUDA_ERROR_INVALID_VALUE;

  out.slice = multiply_add(rows, out.pitch, 0);
  const std::size_t offset =
      multiply_add(operand.z, out.slice, multiply_add(operand.y, out.pitch, operand.x));
  const std::size_t span =
      multiply_add(size.depth - 1, out.slice, multiply_add(size.height - 1, out.pitch, size.width));
  if (overflows) return CUDA_ERROR_INVALID_VALUE;
  const operand_kind kind =
      operand.type == CU_MEMORYTYPE_DEVICE ? operand_kind::known : operand_kind::any;
  const CUresult status =
      resolve_operand(base + offset, span, kind, requested, out.operand, access, user);
  out.operand.host_side = on_host;
  return status;
}

}  // namespace

CUresult resolve_box(const box_copy& copy, memory_operand& dst, memory_operand& src,
                     pitched_copy_work& work, access_time access, const copy_users& users) {
  side_layout dst_layout;
  side_layout src_layout;
  if (const CUresult error =
          resolve_box(copy.src, copy.size, read_access, access, users.src, src_layout))
    return error;
  if (const CUresult error =
          resolve_box(copy.dst, copy.size, write_access, access, users.dst, dst_layout))
    return error;
  dst = dst_layout.operand;
  src = src_layout.operand;
  work = {dst.data,         src.data,         copy.size.width,  copy.size.height, copy.size.depth,
          dst_layout.pitch, src_layout.pitch, dst_layout.slice, src_layout.slice};
  work.dst_unified = copy.dst.type == CU_MEMORYTYPE_UNIFIED;
  work.src_unified = copy.src.type == CU_MEMORYTYPE_UNIFIED;
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
