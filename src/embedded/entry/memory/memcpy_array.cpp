// entry/memcpy_array.cpp - cuMemcpyHtoA and the like: bytes one after the other, to and from
// arrays.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/memory/memcpy_3d.hpp"

namespace weir::embedded::entry {

namespace {

using model::box_operand;

box_operand array_box(CUarray array, std::size_t offset) {
  return {.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}
box_operand device_box(CUdeviceptr address) {
  return {.type = CU_MEMORYTYPE_DEVICE, .device = address};
}
box_operand host_box(const void* pointer) { return {.type = CU_MEMORYTYPE_HOST, .host = pointer}; }

CUresult copy_sync(const box_operand& to, const box_operand& from, std::size_t bytes) {
  const model::box_copy copy{to, from, {bytes, 1, 1}};
  return copy_box_sync(&copy);
}

CUresult copy_async(const box_operand& to, const box_operand& from, std::size_t bytes,
                    CUstream stream) {
  const model::box_copy copy{to, from, {bytes, 1, 1}};
  return copy_box_async(&copy, stream);
}

}  // namespace

CUresult cuMemcpyHtoA_v2(CUarray dst_array, size_t dst_offset, const void* src, size_t bytes) {
  return copy_sync(array_box(dst_array, dst_offset), host_box(src), bytes);
}

CUresult cuMemcpyAtoH_v2(void* dst, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_sync(host_box(dst), array_box(src_array, src_offset), bytes);
}

CUresult cuMemcpyDtoA_v2(CUarray dst_array, size_t dst_offset, CUdeviceptr src, size_t bytes) {
  return copy_sync(array_box(dst_array, dst_offset), device_box(src), bytes);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_sync(device_box(dst), array_box(src_array, src_offset), bytes);
}

CUresult cuMemcpyAtoA_v2(CUarray dst_array, size_t dst_offset, CUarray src_array, size_t src_offset,
                         size_t bytes) {
  return copy_sync(array_box(dst_array, dst_offset), array_box(src_array, src_offset), bytes);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst_array, size_t dst_offset, const void* src, size_t bytes,
                              CUstream stream) {
  return copy_async(array_box(dst_array, dst_offset), host_box(src), bytes, stream);
}

CUresult cuMemcpyAtoHAsync_v2(void* dst, CUarray src_array, size_t src_offset, size_t bytes,
                              CUstream stream) {
  return copy_async(host_box(dst), array_box(src_array, src_offset), bytes, stream);
}

}  // namespace weir::embedded::entry
