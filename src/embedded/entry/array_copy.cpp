// entry/array_copy.cpp - cuMemcpyHtoA and the like: bytes one after the other, to and from arrays.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/box_copy.hpp"

namespace weir::embedded::entry {

namespace {

using model::box_side;
using model::place;

box_side at_array(CUarray array, std::size_t offset) {
  return {.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}
box_side at_device(CUdeviceptr address) { return {.type = CU_MEMORYTYPE_DEVICE, .device = address}; }
box_side at_host(const void* pointer) { return {.type = CU_MEMORYTYPE_HOST, .host = pointer}; }

// Checks a copy and calls submit(to, from, work).
template <class Submit>
CUresult submit_copy(const box_side& to, const box_side& from, std::size_t bytes, Submit&& submit) {
  if (bytes == 0) return CUDA_SUCCESS;
  place target;
  place source;
  model::pitched_copy_work work;
  const CUresult status = model::lay_out({to, from, {bytes, 1, 1}}, target, source, work);
  return status == CUDA_SUCCESS ? submit(target, source, work) : status;
}

CUresult copy_now(const box_side& to, const box_side& from, std::size_t bytes) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_null_stream(p, in); status != CUDA_SUCCESS) return status;
    return submit_copy(to, from, bytes, [&](const place& target, const place& source, const auto& work) {
      return model::copy_now(*in, target, source, work);
    });
  });
}

CUresult copy_in_order(const box_side& to, const box_side& from, std::size_t bytes, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    return submit_copy(to, from, bytes, [&](const place& target, const place& source, const auto& work) {
      return model::copy_in_order(*in, target, source, work);
    });
  });
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
