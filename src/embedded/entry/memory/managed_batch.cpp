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

// The target locations of a batch. locations[i] applies to the ranges from first_indices[i] up to
// first_indices[i + 1], exclusive.
struct prefetch_targets {
  const CUmemLocation* locations;
  const std::size_t* first_indices;
  std::size_t count;
};

CUresult check_ranges(model::stream& target_stream, const ranges& batch) {
  if (const CUresult error = model::check_not_capturing(target_stream)) return error;
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

CUresult check_targets(const model::process& p, const prefetch_targets& targets,
                       std::size_t count) {
  if (targets.locations == nullptr || targets.first_indices == nullptr || targets.count == 0 ||
      targets.count > count || targets.first_indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < targets.count; ++i) {
    if (targets.first_indices[i] >= count ||
        (i > 0 && targets.first_indices[i] < targets.first_indices[i - 1]))
      return CUDA_ERROR_INVALID_VALUE;
    if (check_location(p, targets.locations[i]) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Implements cuMemPrefetchBatchAsync and cuMemDiscardAndPrefetchBatchAsync alike, because discarded
// memory may keep its contents.
CUresult prefetch(CUstream stream, const ranges& batch, const prefetch_targets& targets) {
  return guarded_outside_host_functions(with_stream(stream, [&](model::stream& target_stream) {
    model::process& p = model::this_process();
    if (const CUresult error = check_ranges(target_stream, batch)) return error;
    if (const CUresult error = check_targets(p, targets, batch.count)) return error;
    std::size_t location_index = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
      while (location_index + 1 < targets.count && targets.first_indices[location_index + 1] <= i)
        ++location_index;
      const model::allocation* memory = find_managed(batch.addresses[i], batch.sizes[i]);
      if (memory == nullptr) continue;  // freed by another thread during this call
      model::managed_advice::record_prefetch(*memory, batch.addresses[i], batch.sizes[i],
                                             targets.locations[location_index]);
    }
    return CUDA_SUCCESS;
  }));
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
  return guarded_outside_host_functions(with_stream(stream, [&](model::stream& target_stream) {
    return check_ranges(target_stream, {addresses, sizes, count, flags});
  }));
}

}  // namespace weir::embedded::entry
