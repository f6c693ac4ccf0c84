// entry/pitched_copy.cpp - cuMemcpy2D*, cuMemcpy3D*: boxes of bytes out of larger ones.
#include "embedded/entry/memory/box_copy.hpp"
#include "embedded/entry/entry.hpp"

namespace weir::embedded::entry {

namespace {

template <class Description>
CUresult copy_now(const Description* description) {
  if (description == nullptr) return copy_box_now(nullptr);
  const model::box_copy copy = model::describe(*description);
  return copy_box_now(&copy);
}

template <class Description>
CUresult copy_in_order(const Description* description, CUstream stream) {
  if (description == nullptr) return copy_box_in_order(nullptr, stream);
  const model::box_copy copy = model::describe(*description);
  return copy_box_in_order(&copy, stream);
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_now(copy); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return copy_now(copy); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) { return copy_in_order(copy, stream); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_now(copy); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) { return copy_in_order(copy, stream); }

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  if (copy == nullptr) return copy_now(copy);
  const model::box_copy what = model::describe(*copy);
  const peers between{copy->dstContext, copy->srcContext};
  return copy_box_now(&what, &between);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (copy == nullptr) return copy_in_order(copy, stream);
  const model::box_copy what = model::describe(*copy);
  const peers between{copy->dstContext, copy->srcContext};
  return copy_box_in_order(&what, stream, &between);
}

}  // namespace weir::embedded::entry
