// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memcpy.cpp - cuMemcpy*: linear copies.
#include "embedded/entry/context/peer_access.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

namespace {

using model::memory_operand;
using model::operand_kind;

// A side of a copy, as the program passed it.
struct operand {
  CUdeviceptr address;
  operand_kind kind;
};

// Functions that name a direction require memory known to the driver on the device side. The host
// side accepts any memory, including device memory. Functions that name no direction accept any
// memory on both sides.
operand device_operand(CUdeviceptr address) { return {address, operand_kind::known}; }
operand any_operand(CUdeviceptr address) { return {address, operand_kind::any}; }
operand host_operand(const void* pointer) {
  return {reinterpret_cast<CUdeviceptr>(pointer), operand_kind::any};
}

// Returns true if the devices of the copy can access both sides.
[[gnu::cold, gnu::noinline]] bool both_sides_accessible(const model::process& p,
                                                        const model::stream& target_stream,
                                                        const copy_contexts* between, operand to,
                                                        memory_operand target, operand from,
                                                        memory_operand source, std::size_t bytes) {
  const model::copy_users users = users_of_copy(p, target_stream, between);
  return model::can_access(users.to, target, to.kind, bytes, model::write_access) &&
         model::can_access(users.from, source, from.kind, bytes, model::read_access);
}

// Finds the memory of both sides and calls copy(target, source). A copy of no bytes accepts any
// addresses.
template <class Copy>
CUresult copy_located(const operand& to, const operand& from, std::size_t bytes,
                      const model::process& p, const model::stream& target_stream,
                      const copy_contexts* between, Copy&& copy) {
  if (bytes == 0) return CUDA_SUCCESS;
  const model::access_time access = access_time_of(target_stream);
  memory_operand target;
  memory_operand source;
  if (const CUresult status =
          model::resolve_operand(to.address, bytes, to.kind, model::write_access, target, access);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = model::resolve_operand(from.address, bytes, from.kind,
                                                     model::read_access, source, access);
      status != CUDA_SUCCESS) {
    return status;
  }
  if (p.has_several_devices() && !both_sides_accessible(p, target_stream, between, to, target, from,
                                                        source, bytes)) [[unlikely]]
    return CUDA_ERROR_INVALID_VALUE;
  return copy(target, source);
}

// Returns the parameters of a graph node for a copy without a direction.
model::pitched_copy_work unified_copy(const memory_operand& to, const memory_operand& from,
                                      std::size_t bytes) {
  return {.to = to.at, .from = from.at, .width = bytes, .to_unified = true, .from_unified = true};
}

CUresult copy_sync(const operand& to, const operand& from, std::size_t bytes,
                   const copy_contexts* between = nullptr) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_null_stream(p, target_stream); status != CUDA_SUCCESS)
      return status;
    return copy_located(to, from, bytes, p, *target_stream, between,
                        [&](const memory_operand& target, const memory_operand& source) {
                          if (between == nullptr)
                            return model::copy_sync(*target_stream, target, source, bytes);
                          const model::copy_users users = users_of_copy(p, *target_stream, between);
                          wait_for_peer_streams(*target_stream, users);
                          const CUresult status =
                              model::copy_sync(*target_stream, target, source, bytes);
                          make_peer_streams_wait(*target_stream, users);
                          return status;
                        });
  });
}

CUresult copy_async(const operand& to, const operand& from, std::size_t bytes, CUstream stream,
                    const copy_contexts* between = nullptr) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_stream_for_work(p, stream, target_stream);
        status != CUDA_SUCCESS)
      return status;
    return copy_located(to, from, bytes, p, *target_stream, between,
                        [&](const memory_operand& target, const memory_operand& source) {
                          if (target_stream->capture() != nullptr && to.kind == operand_kind::any &&
                              from.kind == operand_kind::any)
                            return model::copy_async(*target_stream, target, source,
                                                     unified_copy(target, source, bytes));
                          return model::copy_async(*target_stream, target, source, bytes);
                        });
  });
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return copy_sync(any_operand(dst), any_operand(src), bytes);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void* src, size_t bytes) {
  return copy_sync(device_operand(dst), host_operand(src), bytes);
}

CUresult cuMemcpyDtoH_v2(void* dst, CUdeviceptr src, size_t bytes) {
  return copy_sync(host_operand(dst), device_operand(src), bytes);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return copy_sync(device_operand(dst), device_operand(src), bytes);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_async(any_operand(dst), any_operand(src), bytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  return copy_async(device_operand(dst), host_operand(src), bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_async(host_operand(dst), device_operand(src), bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_async(device_operand(dst), device_operand(src), bytes, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                      CUcontext src_context, size_t bytes) {
  const copy_contexts between{dst_context, src_context};
  const CUresult status = guarded([&](model::process&) { return check(between); });
  return status != CUDA_SUCCESS
             ? status
             : copy_sync(device_operand(dst), device_operand(src), bytes, &between);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                           CUcontext src_context, size_t bytes, CUstream stream) {
  const copy_contexts between{dst_context, src_context};
  const CUresult status = guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* target_stream = nullptr;
    if (const CUresult found = find_stream(p, stream, target_stream); found != CUDA_SUCCESS)
      return found;
    if (const CUresult refused = model::check_not_capturing(*target_stream);
        refused != CUDA_SUCCESS)
      return refused;
    return check(between);
  });
  return status != CUDA_SUCCESS
             ? status
             : copy_async(device_operand(dst), device_operand(src), bytes, stream, &between);
}

}  // namespace weir::embedded::entry
