// entry/array_copy.cpp - cuMemcpyHtoA and the like: bytes one after the other, to and from arrays.
#include "embedded/entry/memory/box_copy.hpp"
#include "embedded/entry/entry.hpp"

namespace weir::embedded::entry {

namespace {

using model::box_side;

box_side at_array(CUarray array, std::size_t offset) {
  return {.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}
box_side at_device(CUdeviceptr address) { return {.type = CU_MEMORYTYPE_DEVICE, .device = address}; }
box_side at_host(const void* pointer) { return {.type = CU_MEMORYTYPE_HOST, .host = pointer}; }

CUresult copy_now(const box_side& to, const box_side& from, std::size_t bytes) {
  const model::box_copy copy{to, from, {bytes, 1, 1}};
  return copy_box_now(&copy);
}

CUresult copy_in_order(const box_side& to, const box_side& from, std::size_t bytes, CUstream stream) {
  const model::box_copy copy{to, from, {bytes, 1, 1}};
  return copy_box_in_order(&copy, stream);
}

}  // namespace

CUresult cuMemcpyHtoA_v2(CUarray dst_array, size_t dst_offset, const void* src, size_t bytes) {
  return copy_now(at_array(dst_array, dst_offset), at_host(src), bytes);
}

CUresult cuMemcpyAtoH_v2(void* dst, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_now(at_host(dst), at_array(src_array, src_offset), bytes);
}

CUresult cuMemcpyDtoA_v2(CUarray dst_array, size_t dst_offset, CUdeviceptr src, size_t bytes) {
  return copy_now(at_array(dst_array, dst_offset), at_device(src), bytes);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_now(at_device(dst), at_array(src_array, src_offset), bytes);
}

CUresult cuMemcpyAtoA_v2(CUarray dst_array, size_t dst_offset, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_now(at_array(dst_array, dst_offset), at_array(src_array, src_offset), bytes);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst_array, size_t dst_offset, const void* src, size_t bytes, CUstream stream) {
  return copy_in_order(at_array(dst_array, dst_offset), at_host(src), bytes, stream);
}

CUresult cuMemcpyAtoHAsync_v2(void* dst, CUarray src_array, size_t src_offset, size_t bytes, CUstream stream) {
  return copy_in_order(at_host(dst), at_array(src_array, src_offset), bytes, stream);
}

}  // namespace weir::embedded::entry
