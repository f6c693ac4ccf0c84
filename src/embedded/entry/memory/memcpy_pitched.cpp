// entry/memcpy_pitched.cpp - cuMemcpy2D*, cuMemcpy3D*: boxes of bytes out of larger ones.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/memory/memcpy_3d.hpp"

namespace weir::embedded::entry {

namespace {

template <class Description>
CUresult copy_sync(const Description* description) {
  if (description == nullptr) return copy_box_sync(nullptr);
  const model::box_copy copy = model::describe(*description);
  return copy_box_sync(&copy);
}

template <class Description>
CUresult copy_async(const Description* description, CUstream stream) {
  if (description == nullptr) return copy_box_async(nullptr, stream);
  const model::box_copy copy = model::describe(*description);
  return copy_box_async(&copy, stream);
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) { return copy_sync(copy); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return copy_sync(copy); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy_async(copy, stream);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return copy_sync(copy); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy_async(copy, stream);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  if (copy == nullptr) return copy_sync(copy);
  const model::box_copy box = model::describe(*copy);
  const copy_contexts between{copy->dstContext, copy->srcContext};
  return copy_box_sync(&box, &between);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (copy == nullptr) return copy_async(copy, stream);
  const model::box_copy box = model::describe(*copy);
  const copy_contexts between{copy->dstContext, copy->srcContext};
  return copy_box_async(&box, stream, &between);
}

}  // namespace weir::embedded::entry
