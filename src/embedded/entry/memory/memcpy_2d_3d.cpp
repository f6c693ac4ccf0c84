// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memcpy_2d_3d.cpp - cuMemcpy2D*, cuMemcpy3D*, cuMemcpyHtoA and similar
// functions: boxes of bytes, and bytes to and from arrays.
#include "embedded/entry/context/peer_access.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/transfer.hpp"

#include <optional>

namespace weir::embedded::entry {

namespace {

using model::box_copy;
using model::box_operand;

// Returns the box of a copy; nothing if the program passed null.
template <class Description>
std::optional<box_copy> box_of(const Description* description) {
  if (description == nullptr) return std::nullopt;
  return model::describe(*description);
}

// Returns a copy of `bytes` bytes, to or from an array.
box_copy single_row(const box_operand& dst, const box_operand& src, std::size_t bytes) {
  return {dst, src, {bytes, 1, 1}};
}

box_operand array_box(CUarray array, std::size_t offset) {
  return {.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = offset};
}
box_operand device_box(CUdeviceptr address) {
  return {.type = CU_MEMORYTYPE_DEVICE, .device = address};
}
box_operand host_box(const void* pointer) { return {.type = CU_MEMORYTYPE_HOST, .host = pointer}; }

// Checks a copy, finds its stream and calls submit(stream, users, dst, src, work). Adds a node
// instead if the stream captures. Returns an error without a copy. A copy of an empty box succeeds
// with any addresses and calls nothing.
template <class Submit>
CUresult submit_box(const std::optional<box_copy>& copy, CUstream stream,
                    const copy_contexts* contexts, Submit&& submit) {
  return guarded_outside_host_functions([&] {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult error = find_stream(stream, target_stream)) return error;
    if (const CUresult error = model::check_capture_valid(*target_stream)) return error;
    if (copy->size.empty()) return CUDA_SUCCESS;
    model::memory_operand dst;
    model::memory_operand src;
    model::pitched_copy_work work;
    const model::copy_users users = users_of_copy(*target_stream, contexts);
    const CUresult status =
        model::resolve_box(*copy, dst, src, work, access_time_of(*target_stream), users);
    if (status != CUDA_SUCCESS) return status;
    if (model::capture* const active_capture = target_stream->capture())
      return active_capture->add_copy(*target_stream, model::description_of(*copy));
    return submit(*target_stream, users, dst, src, work);
  });
}

CUresult copy_box_sync(const std::optional<box_copy>& copy,
                       const copy_contexts* contexts = nullptr) {
  return submit_box(copy, nullptr, contexts,
                    [](model::stream& target_stream, const model::copy_users& users,
                       const model::memory_operand& dst, const model::memory_operand& src,
                       const model::pitched_copy_work& work) {
                      wait_for_peer_streams(target_stream, users);
                      const CUresult status = model::copy_sync(target_stream, dst, src, work);
                      make_peer_streams_wait(target_stream, users);
                      return status;
                    });
}

CUresult copy_box_async(const std::optional<box_copy>& copy, CUstream stream,
                        const copy_contexts* contexts = nullptr) {
  return submit_box(
      copy, stream, contexts,
      [](model::stream& target_stream, const model::copy_users&, const model::memory_operand& dst,
         const model::memory_operand& src, const model::pitched_copy_work& work) {
        return model::copy_async(target_stream, dst, src, work);
      });
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_box_sync(box_of(copy)); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return copy_box_sync(box_of(copy)); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_box_async(box_of(copy), stream);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_box_sync(box_of(copy)); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy_box_async(box_of(copy), stream);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  if (copy == nullptr) return copy_box_sync(std::nullopt);
  const copy_contexts contexts{copy->dstContext, copy->srcContext};
  return copy_box_sync(box_of(copy), &contexts);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (copy == nullptr) return copy_box_async(std::nullopt, stream);
  const auto check = [](model::stream& target_stream) {
    return model::check_not_capturing(target_stream);
  };
  if (const CUresult error = guarded_outside_host_functions(with_stream(stream, check)))
    return error;
  const copy_contexts contexts{copy->dstContext, copy->srcContext};
  return copy_box_async(box_of(copy), stream, &contexts);
}

CUresult cuMemcpyHtoA_v2(CUarray dst_array, size_t dst_offset, const void* src, size_t bytes) {
  return copy_box_sync(single_row(array_box(dst_array, dst_offset), host_box(src), bytes));
}

CUresult cuMemcpyAtoH_v2(void* dst, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_box_sync(single_row(host_box(dst), array_box(src_array, src_offset), bytes));
}

CUresult cuMemcpyDtoA_v2(CUarray dst_array, size_t dst_offset, CUdeviceptr src, size_t bytes) {
  return copy_box_sync(single_row(array_box(dst_array, dst_offset), device_box(src), bytes));
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src_array, size_t src_offset, size_t bytes) {
  return copy_box_sync(single_row(device_box(dst), array_box(src_array, src_offset), bytes));
}

CUresult cuMemcpyAtoA_v2(CUarray dst_array, size_t dst_offset, CUarray src_array, size_t src_offset,
                         size_t bytes) {
  return copy_box_sync(
      single_row(array_box(dst_array, dst_offset), array_box(src_array, src_offset), bytes));
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dst_array, size_t dst_offset, const void* src, size_t bytes,
                              CUstream stream) {
  return copy_box_async(single_row(array_box(dst_array, dst_offset), host_box(src), bytes), stream);
}

CUresult cuMemcpyAtoHAsync_v2(void* dst, CUarray src_array, size_t src_offset, size_t bytes,
                              CUstream stream) {
  return copy_box_async(single_row(host_box(dst), array_box(src_array, src_offset), bytes), stream);
}

}  // namespace weir::embedded::entry
