// SPDX-License-Identifier: Apache-2.0
// model/core/context_limits.cpp - the range of each limit, and the treatment of values outside of
// the range.
#include "embedded/model/core/context_limits.hpp"

#include <algorithm>

#include "embedded/kernel/device_heap.hpp"
#include "embedded/kernel/fibers/fiber_stacks.hpp"

namespace weir::embedded::model {
namespace {

using namespace abi;

constexpr std::size_t kib = std::size_t{1} << 10;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t gib = std::size_t{1} << 30;

enum class overflow_action {
  clamped,      // a value above the range becomes the maximum
  refused,      // a value above the range is an error
  unsupported,  // current devices do not have this limit; all calls return an error
  read_only,
};

struct limit_rule {
  std::size_t initial;
  std::size_t minimum;  // smaller values become the minimum
  std::size_t maximum;
  std::size_t step;  // values are rounded up to a multiple of this
  overflow_action above;
};

using enum overflow_action;

constexpr limit_rule rules[CU_LIMIT_MAX] = {
    {1 * kib, 0, 512 * kib, 16, refused},             // CU_LIMIT_STACK_SIZE
    {8448 * kib, 512 * kib, 2 * gib, 256, clamped},   // CU_LIMIT_PRINTF_FIFO_SIZE
    {8 * mib, 4 * mib, 16 * gib, 64 * kib, clamped},  // CU_LIMIT_MALLOC_HEAP_SIZE
    {0, 0, 0, 1, unsupported},                        // CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
    {2048, 32, 512 * kib, 1, clamped},                // CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
    {64, 0, 128, 1, refused},                         // CU_LIMIT_MAX_L2_FETCH_GRANULARITY
    {11520 * kib, 0, 30 * mib, 3840 * kib, refused},  // CU_LIMIT_PERSISTING_L2_CACHE_SIZE
    {227 * kib, 0, 0, 1, read_only},                  // CU_LIMIT_SHMEM_SIZE
    {0, 0, 0, 1, read_only},                          // CU_LIMIT_CIG_ENABLED
    {0, 0, 0, 1, unsupported},                        // CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED
};

constexpr std::size_t round_to_step(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}

}  // namespace

void context_limits::reset() noexcept {
  const std::lock_guard lock{mutex_};
  std::transform(std::begin(rules), std::end(rules), values_.begin(),
                 [](const limit_rule& rule) { return rule.initial; });
}

CUresult context_limits::get(CUlimit limit, std::size_t& value) const noexcept {
  if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  if (rules[limit].above == unsupported) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const std::lock_guard lock{mutex_};
  value = values_[limit];
  return CUDA_SUCCESS;
}

CUresult context_limits::check(CUlimit limit, std::size_t value) noexcept {
  if (limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
  const limit_rule& rule = rules[limit];
  if (rule.above == unsupported) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (rule.above == read_only) return CUDA_ERROR_NOT_PERMITTED;
  return value > rule.maximum && rule.above == refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult context_limits::set(CUlimit limit, std::size_t value) noexcept {
  if (const CUresult error = check(limit, value)) return error;
  const limit_rule& rule = rules[limit];
  const std::size_t in_range = std::clamp(value, rule.minimum, rule.maximum);
  const std::size_t rounded = round_to_step(in_range, rule.step);
  const std::lock_guard lock{mutex_};
  // As on an H200, a stack size that rounds to the current size is kept as given, without rounding.
  const bool is_same_size =
      limit == CU_LIMIT_STACK_SIZE && rounded == round_to_step(values_[limit], rule.step);
  values_[limit] = is_same_size ? in_range : rounded;
  if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) kernel::limit_device_heap(rounded);
  if (limit == CU_LIMIT_STACK_SIZE) kernel::set_stack_limit(rounded);
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
