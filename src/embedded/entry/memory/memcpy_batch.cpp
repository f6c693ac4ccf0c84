// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memcpy_batch.cpp - cuMemcpyBatchAsync, cuMemcpy3DBatchAsync: many copies in
// one call.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/array.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/transfer.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace weir::embedded::entry {

namespace {

CUresult resolve_operand(CUdeviceptr address, std::size_t bytes, CUmemAccess_flags requested,
                         const model::memory_user& user, model::memory_operand& out) {
  return model::resolve_operand(address, bytes, model::operand_kind::any, requested, out,
                                model::access_time::now, user);
}

bool are_valid(CUmemcpySrcAccessOrder order, unsigned flags) {
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
         (flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE}) == 0;
}

model::source_access_order source_order_of(CUmemcpySrcAccessOrder order) {
  using enum model::source_access_order;
  if (order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM) return in_stream_order;
  return order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? during_call : any_order;
}

// Returns true if the location is a valid hint for managed memory, or CU_MEM_LOCATION_TYPE_INVALID,
// which gives none. Hints have no effect.
bool is_hint(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    return model::this_process().find_device(location.id) != nullptr;
  return location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

bool is_valid(const CUmemcpyAttributes& attributes) {
  return are_valid(attributes.srcAccessOrder, attributes.flags) && is_hint(attributes.srcLocHint) &&
         is_hint(attributes.dstLocHint);
}

// Returns true if the sets of attributes are valid and their indices ascend from 0. The set
// attributes[i] applies to the copies from indices[i] up to indices[i + 1], exclusive.
bool are_in_order(std::span<const CUmemcpyAttributes> attributes,
                  std::span<const std::size_t> indices, std::size_t count) {
  if (attributes.empty() || attributes.size() > count || indices[0] != 0) return false;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (!is_valid(attributes[i])) return false;
    if (indices[i] >= count || (i > 0 && indices[i] <= indices[i - 1])) return false;
  }
  return true;
}

// A copy of a batch whose arguments were checked and whose memory was found.
struct located_box {
  model::memory_operand dst, src;
  model::pitched_copy_work work;
  model::source_access_order source_order;
};

// Stores the element size of an array; 0 for a pointer. Returns false for an invalid side.
bool get_element_bytes(const CUmemcpy3DOperand& operand, std::size_t& out) {
  out = 0;
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) return true;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return false;
  const model::array* const found = model::arrays::find(operand.op.array.array);
  if (found != nullptr) out = found->element_bytes;
  return found != nullptr;
}

// Stores the element size of a copy. An array determines the element size. If both sides are
// pointers, the size is one byte. Returns false for an invalid side, and for two arrays with
// different element sizes.
bool get_element_bytes(const CUDA_MEMCPY3D_BATCH_OP& op, std::size_t& out) {
  std::size_t dst_bytes = 0;
  std::size_t src_bytes = 0;
  if (!get_element_bytes(op.dst, dst_bytes) || !get_element_bytes(op.src, src_bytes)) return false;
  out = std::max({dst_bytes, src_bytes, std::size_t{1}});
  return dst_bytes == 0 || src_bytes == 0 || dst_bytes == src_bytes;
}

// Converts one side of a copy from elements to bytes. A row length or layer height of 0 stands for
// the width or height of the extent. Returns false if a row or layer is too small for the extent,
// and on overflow.
bool to_bytes(const CUmemcpy3DOperand& operand, const CUextent3D& extent, std::size_t element_bytes,
              model::box_operand& out) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const CUoffset3D& offset = operand.op.array.offset;
    out = {
        .type = CU_MEMORYTYPE_ARRAY, .array = operand.op.array.array, .y = offset.y, .z = offset.z};
    return !__builtin_mul_overflow(offset.x, element_bytes, &out.x);
  }
  const auto& pointer = operand.op.ptr;
  const std::size_t row = pointer.rowLength != 0 ? pointer.rowLength : extent.width;
  const std::size_t rows = pointer.layerHeight != 0 ? pointer.layerHeight : extent.height;
  out = {.type = CU_MEMORYTYPE_UNIFIED, .device = pointer.ptr, .rows = rows};
  return row >= extent.width && rows >= extent.height &&
         !__builtin_mul_overflow(row, element_bytes, &out.pitch);
}

// Validates a copy and finds the memory of both sides.
CUresult locate_box(const CUDA_MEMCPY3D_BATCH_OP& op, const model::copy_users& users,
                    located_box& out) {
  std::size_t element_bytes = 0;
  if (!are_valid(op.srcAccessOrder, op.flags) || !get_element_bytes(op, element_bytes))
    return CUDA_ERROR_INVALID_VALUE;
  out.source_order = source_order_of(op.srcAccessOrder);
  model::box_copy copy{
      .dst = {}, .src = {}, .size = {op.extent.width, op.extent.height, op.extent.depth}};
  if (copy.size.empty() ||
      __builtin_mul_overflow(op.extent.width, element_bytes, &copy.size.width) ||
      !to_bytes(op.dst, op.extent, element_bytes, copy.dst) ||
      !to_bytes(op.src, op.extent, element_bytes, copy.src))
    return CUDA_ERROR_INVALID_VALUE;
  return model::resolve_box(copy, out.dst, out.src, out.work, model::access_time::now, users);
}

}  // namespace

// As on an H200, the copies that precede an invalid copy are still made.
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* indices, size_t attr_count,
                               CUstream stream) {
  return guarded_outside_host_functions([&] {
    // A null stream is an error even in the per-thread variant of the function.
    if (stream == CU_STREAM_LEGACY || stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult error = find_stream(stream, target_stream)) return error;
    if (const CUresult error = model::check_capture_valid(*target_stream)) return error;
    if (count == 0 || dsts == nullptr || srcs == nullptr || sizes == nullptr || attrs == nullptr ||
        indices == nullptr || !are_in_order({attrs, attr_count}, {indices, attr_count}, count)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (model::this_thread().current() == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (target_stream->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

    const model::memory_user user = copy_user_for(*target_stream);
    std::size_t attribute_index = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (attribute_index + 1 < attr_count && indices[attribute_index + 1] == i) ++attribute_index;
      if (sizes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
      model::memory_operand dst;
      model::memory_operand src;
      if (const CUresult error = resolve_operand(dsts[i], sizes[i], model::write_access, user, dst))
        return error;
      if (const CUresult error = resolve_operand(srcs[i], sizes[i], model::read_access, user, src))
        return error;
      const auto source_order = source_order_of(attrs[attribute_index].srcAccessOrder);
      if (const CUresult error =
              model::copy_async(*target_stream, dst, src, sizes[i], source_order))
        return error;
    }
    return CUDA_SUCCESS;
  });
}

// Checks all copies before it submits any, so that an invalid copy prevents all.
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops,
                                 unsigned long long flags, CUstream stream) {
  if (is_legacy_stream(stream)) return reject_argument();
  const auto copy_all = [&](model::stream& target_stream) {
    if (count == 0 || ops == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const model::memory_user user = copy_user_for(target_stream);
    std::vector<located_box> boxes(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (const CUresult error = locate_box(ops[i], {user, user}, boxes[i])) return error;
    }
    if (target_stream.capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (const located_box& box : boxes) {
      const CUresult status =
          model::copy_async(target_stream, box.dst, box.src, box.work, box.source_order);
      if (status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
  };
  return guarded_outside_host_functions(with_stream_for_work(stream, copy_all));
}

}  // namespace weir::embedded::entry
