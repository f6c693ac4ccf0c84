// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memcpy_batch.cpp - cuMemcpyBatchAsync, cuMemcpy3DBatchAsync: many copies in
// one call.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/transfer.hpp"

#include <span>
#include <vector>

namespace weir::embedded::entry {

namespace {

CUresult resolve_operand(CUdeviceptr address, std::size_t bytes, CUmemAccess_flags requested,
                         const model::memory_user& by, model::memory_operand& out) {
  return model::resolve_operand(address, bytes, model::operand_kind::any, requested, out,
                                model::access_time::now, by);
}

// Returns true if the location is a valid hint for managed memory. Hints have no effect.
bool is_hint(const model::process& p, const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return p.find_device(location.id) != nullptr;
  return location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

bool is_valid(const model::process& p, const CUmemcpyAttributes& attributes) {
  const CUmemcpySrcAccessOrder order = attributes.srcAccessOrder;
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
    return false;
  if ((attributes.flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) != 0) return false;
  return is_hint(p, attributes.srcLocHint) && is_hint(p, attributes.dstLocHint);
}

// Returns true if the sets of attributes are valid and their indices ascend from 0. Each set
// applies from its index up to the index of the next one.
bool are_in_order(const model::process& p, std::span<const CUmemcpyAttributes> attributes,
                  std::span<const std::size_t> indices, std::size_t count) {
  if (attributes.empty() || attributes.size() > count || indices[0] != 0) return false;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (!is_valid(p, attributes[i])) return false;
    if (indices[i] >= count || (i > 0 && indices[i] <= indices[i - 1])) return false;
  }
  return true;
}

}  // namespace

// Copies before an invalid one are still made, as on an H200.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* indices, size_t attr_count,
                               CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    // Null is refused even if it stands for the thread's own default stream.
    if (stream == CU_STREAM_LEGACY || stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_stream(p, stream, target_stream); status != CUDA_SUCCESS)
      return status;
    if (count == 0 || dsts == nullptr || srcs == nullptr || sizes == nullptr || attrs == nullptr ||
        indices == nullptr || !are_in_order(p, {attrs, attr_count}, {indices, attr_count}, count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (model::this_thread().current() == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (target_stream->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

    const model::memory_user by = copy_user_for(p, *target_stream);
    std::size_t set = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (set + 1 < attr_count && indices[set + 1] == i) ++set;
      if (sizes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
      model::memory_operand to;
      model::memory_operand from;
      if (const CUresult status = resolve_operand(dsts[i], sizes[i], model::write_access, by, to))
        return status;
      if (const CUresult status = resolve_operand(srcs[i], sizes[i], model::read_access, by, from))
        return status;
      const bool at_once = attrs[set].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
      const auto reading =
          at_once ? model::source_access_order::during_call : model::source_access_order::any_order;
      if (const CUresult status = model::copy_async(*target_stream, to, from, sizes[i], reading))
        return status;
    }
    return CUDA_SUCCESS;
  });
}

namespace {

// A copy whose memory has been found.
struct located_box {
  model::memory_operand to, from;
  model::pitched_copy_work work;
  model::source_access_order reading;
};

// Computes the element size of an array; 0 for a pointer. If one side is a pointer, the other side
// determines the size; if both are, the size is a byte.
CUresult element_of(const CUmemcpy3DOperand& operand, std::size_t& out) {
  out = 0;
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) return CUDA_SUCCESS;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  const model::array* const found = model::arrays::find(operand.op.array.array);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = found->element;
  return CUDA_SUCCESS;
}

// Converts one side of a copy to bytes. A row length or layer height of 0 stands for the extent.
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

// Copies all boxes or none.
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops,
                                 unsigned long long flags, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_stream(p, stream, target_stream); status != CUDA_SUCCESS)
      return status;
    if (target_stream->role() == model::stream_role::legacy || count == 0 || ops == nullptr ||
        flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (target_stream->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

    const model::copy_users by{copy_user_for(p, *target_stream), copy_user_for(p, *target_stream)};
    std::vector<located_box> boxes(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (const CUresult status = locate_box(ops[i], by, boxes[i]); status != CUDA_SUCCESS)
        return status;
    }
    for (const located_box& box : boxes) {
      const CUresult status =
          model::copy_async(*target_stream, box.to, box.from, box.work, box.reading);
      if (status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
