// entry/memcpy_3d_batch.cpp - cuMemcpy3DBatchAsync: many copies of boxes in one call.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/stream/box_copy.hpp"

#include <span>
#include <vector>

namespace weir::embedded::entry {

namespace {

// What is to be copied, as found.
struct located_box {
  model::memory_operand to, from;
  model::pitched_copy_work work;
  model::source_access_order reading;
};

// The bytes of an element: an array's own; 0 for a pointer, whose element is the other side's, or a
// byte.
CUresult element_of(const CUmemcpy3DOperand& operand, std::size_t& out) {
  out = 0;
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) return CUDA_SUCCESS;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  const model::array* const found = model::arrays::find(operand.op.array.array);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = found->element;
  return CUDA_SUCCESS;
}

// One side in bytes. Without a row's length or a layer's height its box is packed.
CUresult to_bytes(const CUmemcpy3DOperand& operand, const CUextent3D& extent, std::size_t element,
                  model::box_operand& out) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const CUoffset3D& at = operand.op.array.offset;
    out = {.type = CU_MEMORYTYPE_ARRAY, .array = operand.op.array.array, .y = at.y, .z = at.z};
    return __builtin_mul_overflow(at.x, element, &out.x) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  const auto& at = operand.op.ptr;
  const std::size_t row = at.rowLength != 0 ? at.rowLength : extent.width;
  const std::size_t rows = at.layerHeight != 0 ? at.layerHeight : extent.height;
  if (row < extent.width || rows < extent.height) return CUDA_ERROR_INVALID_VALUE;
  out = {.type = CU_MEMORYTYPE_UNIFIED, .device = at.ptr, .rows = rows};
  return __builtin_mul_overflow(row, element, &out.pitch) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult locate_box(const CUDA_MEMCPY3D_BATCH_OP& op, const model::copy_users& by,
                    located_box& out) {
  if (op.srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
      op.srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((op.flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool at_once = op.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  out.reading =
      at_once ? model::source_access_order::during_call : model::source_access_order::any_order;

  std::size_t to = 0;
  std::size_t from = 0;
  if (const CUresult status = element_of(op.dst, to); status != CUDA_SUCCESS) return status;
  if (const CUresult status = element_of(op.src, from); status != CUDA_SUCCESS) return status;
  if (to != 0 && from != 0 && to != from) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t element = to != 0 ? to : from != 0 ? from : 1;

  model::box_copy copy{
      .to = {}, .from = {}, .size = {op.extent.width, op.extent.height, op.extent.depth}};
  if (copy.size.empty() || __builtin_mul_overflow(op.extent.width, element, &copy.size.width)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult status = to_bytes(op.dst, op.extent, element, copy.to); status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = to_bytes(op.src, op.extent, element, copy.from);
      status != CUDA_SUCCESS)
    return status;
  return model::resolve_box(copy, out.to, out.from, out.work, model::access_time::now, by);
}

}  // namespace

// Nothing is copied unless all can be.
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops,
                                 unsigned long long flags, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    if (in->role() == model::stream_role::legacy || count == 0 || ops == nullptr || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (in->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

    const model::copy_users by{copy_user_for(p, *in), copy_user_for(p, *in)};
    std::vector<located_box> boxes(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (const CUresult status = locate_box(ops[i], by, boxes[i]); status != CUDA_SUCCESS)
        return status;
    }
    for (const located_box& box : boxes) {
      const CUresult status = model::copy_async(*in, box.to, box.from, box.work, box.reading);
      if (status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
