// entry/copy.cpp - cuMemcpy*: copies of bytes that lie one after the other.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/context/peers.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/stream/transfer.hpp"

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

// Do the devices of a copy reach both sides?
[[gnu::cold, gnu::noinline]] bool is_within_reach(const model::process& p, const model::stream& in,
                                                  const peers* between, side to, place target, side from, place source,
                                                  std::size_t bytes) {
  const model::copy_users by = users_of_copy(p, in, between);
  return model::reaches(by.to, target, to.kind, bytes, model::to_write) &&
         model::reaches(by.from, source, from.kind, bytes, model::to_read);
}

// No bytes are copied from anywhere to anywhere.
template <class Copy>
CUresult copy_located(const side& to, const side& from, std::size_t bytes, const model::process& p,
                      const model::stream& in, const peers* between, Copy&& copy) {
  if (bytes == 0) return CUDA_SUCCESS;
  const model::use_time when = use_time_in(in);
  place target;
  place source;
  if (const CUresult status = model::locate(to.address, bytes, to.kind, model::to_write, target, when);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = model::locate(from.address, bytes, from.kind, model::to_read, source, when);
      status != CUDA_SUCCESS) {
    return status;
  }
  if (p.has_several_devices() && !is_within_reach(p, in, between, to, target, from, source, bytes)) [[unlikely]]
    return CUDA_ERROR_INVALID_VALUE;
  return copy(target, source);
}

// A copy of which no direction was named, as a node remembers it.
model::pitched_copy_work told_by_addresses(const place& to, const place& from, std::size_t bytes) {
  return {.to = to.at, .from = from.at, .width = bytes, .to_unified = true, .from_unified = true};
}

CUresult copy_now(const side& to, const side& from, std::size_t bytes, const peers* between = nullptr) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_null_stream(p, in); status != CUDA_SUCCESS) return status;
    return copy_located(to, from, bytes, p, *in, between, [&](const place& target, const place& source) {
      if (between == nullptr) return model::copy_now(*in, target, source, bytes);
      const model::copy_users by = users_of_copy(p, *in, between);
      wait_for_peers(*in, by);
      const CUresult status = model::copy_now(*in, target, source, bytes);
      let_peers_wait(*in, by);
      return status;
    });
  });
}

CUresult copy_in_order(const side& to, const side& from, std::size_t bytes, CUstream stream,
                       const peers* between = nullptr) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream_for_work(p, stream, in); status != CUDA_SUCCESS) return status;
    return copy_located(to, from, bytes, p, *in, between, [&](const place& target, const place& source) {
      if (in->capture() != nullptr && to.kind == place_kind::any && from.kind == place_kind::any)
        return model::copy_in_order(*in, target, source, told_by_addresses(target, source, bytes));
      return model::copy_in_order(*in, target, source, bytes);
    });
  });
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
  return copy_in_order(any_side(dst), any_side(src), bytes, stream);
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
  const peers between{dst_context, src_context};
  const CUresult status = guarded([&](model::process&) { return check(between); });
  return status != CUDA_SUCCESS ? status : copy_now(device_side(dst), device_side(src), bytes, &between);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes,
                           CUstream stream) {
  const peers between{dst_context, src_context};
  const CUresult status = guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult found = find_stream(p, stream, in); found != CUDA_SUCCESS) return found;
    if (const CUresult refused = model::refuse_in_capture(*in); refused != CUDA_SUCCESS) return refused;
    return check(between);
  });
  return status != CUDA_SUCCESS ? status : copy_in_order(device_side(dst), device_side(src), bytes, stream, &between);
}

}  // namespace weir::embedded::entry
