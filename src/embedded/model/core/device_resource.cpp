// model/device_resource.cpp - how an H200 divides its multiprocessors.
#include "embedded/model/core/device_resource.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/kernel/launch_limits.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// In the padding of a CUdevResource, where a driver keeps what it knows of it. The program has it
// in its hands, and any bytes may come back.
struct encoded_resource {
  std::uint64_t mark;
  std::uint64_t split;
  int ordinal;
  unsigned count;
  unsigned coscheduled;
};

constexpr std::uint64_t magic = 0x7472'6170'7269'6577;

// Steps: of groups whose multiprocessors can be scheduled together, and of pairs that need not be.
constexpr unsigned group_step = 8;
constexpr unsigned pair_step = 2;

// A group of eight does not reach over the edge of one that is built. So there are fifteen such
// groups, though there would be enough multiprocessors for one more. Larger groups are made of
// several.
unsigned groups_in_clusters() noexcept {
  unsigned groups = 0;
  for (const unsigned size : limits::multiprocessor_groups) groups += size / group_step;
  return groups;
}

std::uint64_t next_split_id() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

device_resource device_resource::whole(device& of) {
  int count = 0;
  static_cast<void>(of.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, count));
  return {&of, static_cast<unsigned>(count), true, 0};
}

// What can be divided says in what steps. No multiprocessors are no part.
void device_resource::write(CUdevResource& out) const noexcept {
  out = {};
  if (count == 0) return;
  out.type = CU_DEV_RESOURCE_TYPE_SM;
  const unsigned step = split != 0 ? 0 : coscheduled ? group_step : pair_step;
  out.sm = {count, step, step};
  const encoded_resource known{magic, split, of->ordinal(), count, coscheduled};
  static_assert(sizeof known <= sizeof out._internal_padding);
  std::memcpy(out._internal_padding, &known, sizeof known);
}

std::optional<device_resource> device_resource::read(const CUdevResource& in) noexcept {
  encoded_resource known;
  std::memcpy(&known, in._internal_padding, sizeof known);
  device* const of = this_process().find_device(known.ordinal);
  if (known.mark != magic || of == nullptr || known.count != in.sm.smCount) return std::nullopt;
  if (known.count == 0 || known.count > whole(*of).count || known.coscheduled > 1)
    return std::nullopt;
  return device_resource{of, known.count, known.coscheduled != 0, known.split};
}

CUresult split_by_count(const device_resource& whole, unsigned wanted, unsigned flags,
                        sm_split& out) noexcept {
  const bool apart = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0;
  const bool for_clusters = (flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE) != 0;
  if (apart && for_clusters)
    return CUDA_ERROR_INVALID_VALUE;  // other bits mean nothing, and do no harm
  if (wanted > whole.count || whole.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned step = apart ? pair_step : group_step;
  const unsigned each = std::min((std::max(wanted, 1U) + step - 1) / step * step, whole.count);
  out.groups = whole.count / each;
  if (each == group_step && !apart) out.groups = std::min(out.groups, groups_in_clusters());
  out.group = {whole.of, each, !apart, next_split_id()};
  return CUDA_SUCCESS;
}

device_resource remaining_after(const device_resource& whole, const sm_split& by,
                                unsigned taken) noexcept {
  return {whole.of, whole.count - taken * by.group.count, false, by.group.split};
}

CUresult merge_parts(std::span<const device_resource> parts, device_resource& out) noexcept {
  const device_resource all = device_resource::whole(*parts.front().of);
  unsigned count = 0;
  bool coscheduled = true;
  for (const device_resource& part : parts) {
    if (part.of != all.of) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    // Parts that overlap are counted twice, but not beyond what there is.
    count += std::min(part.count, all.count - count);
    coscheduled = coscheduled && part.coscheduled;
  }
  out = {all.of, count, coscheduled, 0};
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
