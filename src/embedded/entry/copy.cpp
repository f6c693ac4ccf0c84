// entry/copy.cpp - cuMemcpy*: copies of bytes that lie one after the other.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture.hpp"
#include "embedded/model/device.hpp"
#include "embedded/model/memory_pool.hpp"
#include "embedded/model/transfer.hpp"

namespace weir::embedded::entry {

namespace {

using model::place;
using model::place_kind;

// One side of a copy, as a call describes it.
struct side {
  CUdeviceptr address;
  place_kind kind;
};

// The calls that name a direction must be given known memory for the device's side; for the host's side any will do,
// also the device's, and so it will for both sides where no direction is named.
side device_side(CUdeviceptr address) { return {address, place_kind::known}; }
side any_side(CUdeviceptr address) { return {address, place_kind::any}; }
side host_side(const void* pointer) { return {reinterpret_cast<CUdeviceptr>(pointer), place_kind::any}; }

// Has the pool of the memory, if it is another device's, let the device in?
bool is_let(const model::device& by, const place& memory, CUmemAccess_flags wanted) {
  const model::allocation* in = memory.in;
  if (in == nullptr || in->on == &by || in->kind != model::memory_kind::pooled) return true;
  const model::memory_pool* pool = in->pool;
  return pool == nullptr || !pool->place().is_device() || (pool->access_of(by.ordinal()) & wanted) == wanted;
}

// May a device copy between two places of which a call tells the addresses alone? What a GPU says where one of them is
// the host's is not known.
bool may_copy(const model::device& by, const place& target, const place& source) {
  if (target.on_host() || source.on_host()) return true;
  return is_let(by, target, model::to_write) && is_let(by, source, model::to_read);
}

// No bytes are copied from anywhere to anywhere.
template <class Copy>
CUresult copy_located(const side& to, const side& from, std::size_t bytes, model::use_time when, Copy&& copy) {
  if (bytes == 0) return CUDA_SUCCESS;
  place target;
  place source;
  if (const CUresult status = model::locate(to.address, bytes, to.kind, model::to_write, target, when);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = model::locate(from.address, bytes, from.kind, model::to_read, source, when);
      status != CUDA_SUCCESS) {
    return status;
  }
  return copy(target, source);
}

CUresult copy_now(const side& to, const side& from, std::size_t bytes) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_null_stream(p, in); status != CUDA_SUCCESS) return status;
    return copy_located(to, from, bytes, use_time_in(*in), [&](const place& target, const place& source) {
      return model::copy_now(*in, target, source, bytes);
    });
  });
}

// Where a call tells the addresses alone, pools are asked whether they let the stream's device in.
CUresult copy_in_order(const side& to, const side& from, std::size_t bytes, CUstream stream, bool by_address = false) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream_for_work(p, stream, in); status != CUDA_SUCCESS) return status;
    return copy_located(to, from, bytes, use_time_in(*in), [&](const place& target, const place& source) {
      if (by_address && !may_copy(in->owner().owner(), target, source)) return CUDA_ERROR_INVALID_VALUE;
      return model::copy_in_order(*in, target, source, bytes);
    });
  });
}

// A context of a peer copy; null stands for the current one.
CUresult check_peer(CUcontext peer) {
  if (peer == nullptr) return CUDA_SUCCESS;
  const model::context* found = model::this_process().contexts.find(peer);
  return found == nullptr ? CUDA_ERROR_INVALID_CONTEXT : found->status();
}

CUresult check_peers(CUcontext one, CUcontext other) {
  const CUresult status = check_peer(one);
  return status != CUDA_SUCCESS ? status : check_peer(other);
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return copy_now(any_side(dst), any_side(src), bytes);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void* src, size_t bytes) {
  return copy_now(device_side(dst), host_side(src), bytes);
}

CUresult cuMemcpyDtoH_v2(void* dst, CUdeviceptr src, size_t bytes) {
  return copy_now(host_side(dst), device_side(src), bytes);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return copy_now(device_side(dst), device_side(src), bytes);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_in_order(any_side(dst), any_side(src), bytes, stream, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void* src, size_t bytes, CUstream stream) {
  return copy_in_order(device_side(dst), host_side(src), bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_in_order(host_side(dst), device_side(src), bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return copy_in_order(device_side(dst), device_side(src), bytes, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes) {
  const CUresult status = guarded([&](model::process&) { return check_peers(dst_context, src_context); });
  return status != CUDA_SUCCESS ? status : copy_now(device_side(dst), device_side(src), bytes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes,
                           CUstream stream) {
  const CUresult status = guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult found = find_stream(p, stream, in); found != CUDA_SUCCESS) return found;
    if (const CUresult refused = model::refuse_in_capture(*in); refused != CUDA_SUCCESS) return refused;
    return check_peers(dst_context, src_context);
  });
  return status != CUDA_SUCCESS ? status : copy_in_order(device_side(dst), device_side(src), bytes, stream);
}

}  // namespace weir::embedded::entry
