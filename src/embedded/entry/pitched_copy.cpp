// entry/pitched_copy.cpp - cuMemcpy2D*, cuMemcpy3D*: boxes of bytes out of larger ones.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/box_copy.hpp"
#include "embedded/model/transfer.hpp"

namespace weir::embedded::entry {

namespace {

using model::place;

// Checks a copy and calls submit(to, from, work). An empty box is copied from anywhere to anywhere.
template <class Submit>
CUresult submit_copy(const model::box_copy& copy, Submit&& submit) {
  if (copy.size.empty()) return CUDA_SUCCESS;
  place to;
  place from;
  model::pitched_copy_work work;
  if (const CUresult status = model::lay_out(copy, to, from, work); status != CUDA_SUCCESS) return status;
  return submit(to, from, work);
}

template <class Description>
CUresult copy_now(const Description* description) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const CUresult status = find_null_stream(p, in); status != CUDA_SUCCESS) return status;
    return submit_copy(model::describe(*description), [&](const place& to, const place& from, const auto& work) {
      return model::copy_now(*in, to, from, work);
    });
  });
}

template <class Description>
CUresult copy_in_order(const Description* description, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    return submit_copy(model::describe(*description), [&](const place& to, const place& from, const auto& work) {
      return model::copy_in_order(*in, to, from, work);
    });
  });
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_now(copy); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return copy_now(copy); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) { return copy_in_order(copy, stream); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_now(copy); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) { return copy_in_order(copy, stream); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) { return copy_now(copy); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) { return copy_in_order(copy, stream); }

}  // namespace weir::embedded::entry
