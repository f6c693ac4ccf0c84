// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/managed_batch.cpp - cuMemPrefetchBatchAsync and similar functions: many
// ranges of managed memory in one call.
#include <span>
#include <vector>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/memory/managed_range.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::entry {

namespace {

// The ranges of a batch, as the program passed them.
struct ranges {
  const CUdeviceptr* addresses;
  const std::size_t* sizes;
  std::size_t count;
  unsigned long long flags;
};

// The locations of a batch. Each applies from its index up to the index of the next one.
struct prefetch_targets {
  const CUmemLocation* where;
  const std::size_t* first;
  std::size_t count;
};

CUresult check(model::stream& target_stream, const ranges& batch) {
  if (const CUresult status = model::check_not_capturing(target_stream); status != CUDA_SUCCESS)
    return status;
  if (target_stream.role() == model::stream_role::legacy || batch.count == 0 ||
      batch.addresses == nullptr || batch.sizes == nullptr || batch.flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (batch.sizes[i] == 0 || find_managed(batch.addresses[i], batch.sizes[i]) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check(const model::process& p, const prefetch_targets& targets, std::size_t count) {
  if (targets.where == nullptr || targets.first == nullptr || targets.count == 0 ||
      targets.count > count || targets.first[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < targets.count; ++i) {
    if (targets.first[i] >= count || (i > 0 && targets.first[i] < targets.first[i - 1]))
      return CUDA_ERROR_INVALID_VALUE;
    if (check_place(p, targets.where[i]) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Implements both prefetching and discarding with a prefetch: discarded memory may keep its
// contents.
CUresult prefetch(CUstream stream, const ranges& batch, const prefetch_targets& targets) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_stream(p, stream, target_stream); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = check(*target_stream, batch); status != CUDA_SUCCESS) return status;
    if (const CUresult status = check(p, targets, batch.count); status != CUDA_SUCCESS)
      return status;
    std::size_t location_index = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
      while (location_index + 1 < targets.count && targets.first[location_index + 1] <= i)
        ++location_index;
      const model::allocation* memory = find_managed(batch.addresses[i], batch.sizes[i]);
      if (memory == nullptr) continue;  // freed by another thread during this call
      model::managed_advice::record_prefetch(*memory, batch.addresses[i], batch.sizes[i],
                                             targets.where[location_index]);
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
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_stream(p, stream, target_stream); status != CUDA_SUCCESS)
      return status;
    return check(*target_stream, {addresses, sizes, count, flags});
  });
}

}  // namespace weir::embedded::entry
