// model/device_part.cpp - how an H200 divides its multiprocessors.
#include "embedded/model/core/device_part.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "embedded/model/core/device.hpp"
#include "embedded/model/kernel/launch_limits.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// In the padding of a CUdevResource, where a driver keeps what it knows of it. The program has it in its hands, and any bytes
// may come back.
struct inside {
  std::uint64_t mark;
  std::uint64_t split;
  int ordinal;
  unsigned count;
  unsigned together;
};

constexpr std::uint64_t known_mark = 0x7472'6170'7269'6577;

// Steps: of groups whose multiprocessors can be scheduled together, and of pairs that need not be.
constexpr unsigned group_step = 8;
constexpr unsigned pair_step = 2;

// A group of eight does not reach over the edge of one that is built. So there are fifteen such groups, though there would be
// enough multiprocessors for one more. Larger groups are made of several.
unsigned groups_in_clusters() noexcept {
  unsigned groups = 0;
  for (const unsigned size : limits::multiprocessor_groups) groups += size / group_step;
  return groups;
}

std::uint64_t next_split() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

device_part device_part::whole(device& of) {
  int count = 0;
  static_cast<void>(of.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, count));
  return {&of, static_cast<unsigned>(count), true, 0};
}

// What can be divided says in what steps. No multiprocessors are no part.
void device_part::write(CUdevResource& out) const noexcept {
  out = {};
  if (count == 0) return;
  out.type = CU_DEV_RESOURCE_TYPE_SM;
  const unsigned step = split != 0 ? 0 : together ? group_step : pair_step;
  out.sm = {count, step, step};
  const inside known{known_mark, split, of->ordinal(), count, together};
  static_assert(sizeof known <= sizeof out._internal_padding);
  std::memcpy(out._internal_padding, &known, sizeof known);
}

std::optional<device_part> device_part::read(const CUdevResource& in) noexcept {
  inside known;
  std::memcpy(&known, in._internal_padding, sizeof known);
  device* const of = this_process().find_device(known.ordinal);
  if (known.mark != known_mark || of == nullptr || known.count != in.sm.smCount) return std::nullopt;
  if (known.count == 0 || known.count > whole(*of).count || known.together > 1) return std::nullopt;
  return device_part{of, known.count, known.together != 0, known.split};
}

CUresult divide(const device_part& whole, unsigned wanted, unsigned flags, division& out) noexcept {
  const bool apart = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0;
  const bool for_clusters = (flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE) != 0;
  if (apart && for_clusters) return CUDA_ERROR_INVALID_VALUE;  // other bits mean nothing, and do no harm
  if (wanted > whole.count || whole.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned step = apart ? pair_step : group_step;
  const unsigned each = std::min((std::max(wanted, 1U) + step - 1) / step * step, whole.count);
  out.groups = whole.count / each;
  if (each == group_step && !apart) out.groups = std::min(out.groups, groups_in_clusters());
  out.group = {whole.of, each, !apart, next_split()};
  return CUDA_SUCCESS;
}

device_part rest_of(const device_part& whole, const division& by, unsigned taken) noexcept {
  return {whole.of, whole.count - taken * by.group.count, false, by.group.split};
}

CUresult unite(std::span<const device_part> parts, device_part& out) noexcept {
  const device_part all = device_part::whole(*parts.front().of);
  unsigned count = 0;
  bool together = true;
  for (const device_part& part : parts) {
    if (part.of != all.of) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    // Parts that overlap are counted twice, but not beyond what there is.
    count += std::min(part.count, all.count - count);
    together = together && part.together;
  }
  out = {all.of, count, together, 0};
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
