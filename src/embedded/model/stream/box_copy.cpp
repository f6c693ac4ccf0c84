// model/box_copy.cpp - where the boxes of a copy lie.
#include "embedded/model/stream/box_copy.hpp"

#include <optional>

#include "embedded/model/memory/array.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// a * b + c, unless that is no number of bytes.
std::optional<std::size_t> multiply_add(std::size_t a, std::size_t b, std::size_t c) {
  std::size_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || __builtin_add_overflow(out, c, &out))
    return std::nullopt;
  return out;
}

// Where the box of a side lies, and how it is laid out there.
struct layout {
  memory_operand at;
  std::size_t pitch = 0, slice = 0;
};

// Does [from, from + count) lie in [0, end)?
bool lies_in(std::size_t from, std::size_t count, std::size_t end) {
  return count <= end && from <= end - count;
}

// The same box in an array, within it. It may begin and end within an element.
CUresult lay_out_in_array(const box_operand& of, const box_extent& size, layout& out) {
  const array* const in = arrays::find(of.array);
  if (in == nullptr || of.level != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!lies_in(of.x, size.width, in->row) || !lies_in(of.y, size.height, in->rows) ||
      !lies_in(of.z, size.depth, in->slices)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  out.pitch = in->row;
  out.slice = in->slice();
  const std::uintptr_t offset = of.z * out.slice + of.y * out.pitch + of.x;
  out.at = {reinterpret_cast<std::byte*>(in->memory->start() + offset), in->memory};
  return CUDA_SUCCESS;
}

CUresult resolve_box(const box_operand& of, const box_extent& size, CUmemAccess_flags wanted,
                     access_time when, const memory_user& by, layout& out) {
  if (of.type == CU_MEMORYTYPE_ARRAY) return lay_out_in_array(of, size, out);
  constexpr std::size_t max_pitch = 0x7fff'ffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH
  const bool on_host = of.type == CU_MEMORYTYPE_HOST;
  if (!on_host && of.type != CU_MEMORYTYPE_DEVICE && of.type != CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr base = on_host ? reinterpret_cast<CUdeviceptr>(of.host) : of.device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;

  const auto row_end = multiply_add(1, of.x, size.width);
  const auto slice_end = multiply_add(1, of.y, size.height);
  const bool one_row = size.height == 1 && size.depth == 1;  // which has no use for a pitch
  if (!row_end || !slice_end || (of.pitch > max_pitch && !one_row)) return CUDA_ERROR_INVALID_VALUE;
  out.pitch = of.pitch != 0 ? of.pitch : *row_end;
  const std::size_t rows = of.rows != 0 ? of.rows : *slice_end;
  if (out.pitch < *row_end || (size.depth > 1 && rows < *slice_end))
    return CUDA_ERROR_INVALID_VALUE;

  const auto slice = multiply_add(rows, out.pitch, 0);
  const auto offset_of_rows = multiply_add(of.y, out.pitch, of.x);
  if (!slice || !offset_of_rows) return CUDA_ERROR_INVALID_VALUE;
  out.slice = *slice;
  const auto offset = multiply_add(of.z, *slice, *offset_of_rows);
  const auto last_slice = multiply_add(size.height - 1, out.pitch, size.width);
  const auto span = last_slice ? multiply_add(size.depth - 1, *slice, *last_slice) : std::nullopt;
  if (!offset || !span) return CUDA_ERROR_INVALID_VALUE;
  const operand_kind kind =
      of.type == CU_MEMORYTYPE_DEVICE ? operand_kind::known : operand_kind::any;
  return resolve_operand(base + *offset, *span, kind, wanted, out.at, when, by);
}

}  // namespace

CUresult resolve_box(const box_copy& copy, memory_operand& to, memory_operand& from,
                     pitched_copy_work& work, access_time when, const copy_users& by) {
  layout target;
  layout source;
  if (const CUresult status = resolve_box(copy.from, copy.size, read_access, when, by.from, source);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = resolve_box(copy.to, copy.size, write_access, when, by.to, target);
      status != CUDA_SUCCESS)
    return status;
  to = target.at;
  from = source.at;
  work = {to.at,        from.at,      copy.size.width, copy.size.height, copy.size.depth,
          target.pitch, source.pitch, target.slice,    source.slice};
  work.to_unified = copy.to.type == CU_MEMORYTYPE_UNIFIED;
  work.from_unified = copy.from.type == CU_MEMORYTYPE_UNIFIED;
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
