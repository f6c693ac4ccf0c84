// entry/managed_batch.cpp - cuMemPrefetchBatchAsync and its like: many ranges of managed memory in
// one call.
#include <span>
#include <vector>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/memory/managed_range.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::entry {

namespace {

// The ranges of a batch, as the program gave them.
struct ranges {
  const CUdeviceptr* addresses;
  const std::size_t* sizes;
  std::size_t count;
  unsigned long long flags;
};

// The places of a batch: each holds from its index on, up to the next one's.
struct prefetch_targets {
  const CUmemLocation* where;
  const std::size_t* first;
  std::size_t count;
};

CUresult check(model::stream& in, const ranges& batch) {
  if (const CUresult status = model::check_not_capturing(in); status != CUDA_SUCCESS) return status;
  if (in.role() == model::stream_role::legacy || batch.count == 0 || batch.addresses == nullptr ||
      batch.sizes == nullptr || batch.flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (batch.sizes[i] == 0 || find_managed(batch.addresses[i], batch.sizes[i]) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check(const model::process& p, const prefetch_targets& to, std::size_t count) {
  if (to.where == nullptr || to.first == nullptr || to.count == 0 || to.count > count ||
      to.first[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < to.count; ++i) {
    if (to.first[i] >= count || (i > 0 && to.first[i] < to.first[i - 1]))
      return CUDA_ERROR_INVALID_VALUE;
    if (check_place(p, to.where[i]) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Discarded memory may hold anything, what it held before too; so to prefetch and to discard and
// prefetch are one.
CUresult prefetch(CUstream stream, const ranges& batch, const prefetch_targets& to) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    if (const CUresult status = check(*in, batch); status != CUDA_SUCCESS) return status;
    if (const CUresult status = check(p, to, batch.count); status != CUDA_SUCCESS) return status;
    std::size_t location_index = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
      while (location_index + 1 < to.count && to.first[location_index + 1] <= i) ++location_index;
      const model::allocation* memory = find_managed(batch.addresses[i], batch.sizes[i]);
      if (memory == nullptr) continue;  // freed by another thread since
      model::managed_advice::record_prefetch(*memory, batch.addresses[i], batch.sizes[i],
                                             to.where[location_index]);
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                 CUmemLocation* locations, size_t* indices, size_t location_count,
                                 unsigned long long flags, CUstream stream) {
  return prefetch(stream, {addresses, sizes, count, flags}, {locations, indices, location_count});
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* indices,
                                           size_t location_count, unsigned long long flags,
                                           CUstream stream) {
  return prefetch(stream, {addresses, sizes, count, flags}, {locations, indices, location_count});
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                unsigned long long flags, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* in = nullptr;
    if (const CUresult status = find_stream(p, stream, in); status != CUDA_SUCCESS) return status;
    return check(*in, {addresses, sizes, count, flags});
  });
}

}  // namespace weir::embedded::entry
