// SPDX-License-Identifier: Apache-2.0
// model/core/device_resource.cpp - divides multiprocessors as an H200 does.
#include "embedded/model/core/device_resource.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/kernel/launch_shape.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// The data that write() stores in the padding of a CUdevResource. The program holds the
// CUdevResource and may have changed it, so read() checks the data.
struct encoded_resource {
  std::uint64_t mark;
  std::uint64_t split;
  int ordinal;
  unsigned count;
  unsigned coscheduled;
};

constexpr std::uint64_t magic = 0x7472'6170'7269'6577;

// The size of a group is a multiple of group_step if its multiprocessors can run clusters of
// blocks, else of pair_step.
constexpr unsigned group_step = 8;
constexpr unsigned pair_step = 2;

// Returns the number of groups of eight multiprocessors that each lie within one hardware group. An
// H200 has fifteen, although it has enough multiprocessors for sixteen. Larger groups combine
// several such groups.
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

device_resource device_resource::whole(device& owner) {
  const int count = owner.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return {.owner = &owner, .count = static_cast<unsigned>(count), .coscheduled = true};
}

// A part that can be divided reports the step of group sizes; any other part reports 0. A part
// without multiprocessors becomes an empty CUdevResource without a type.
void device_resource::write(CUdevResource& out) const noexcept {
  out = {};
  if (count == 0) return;
  out.type = CU_DEV_RESOURCE_TYPE_SM;
  const unsigned step = split != 0 ? 0 : coscheduled ? group_step : pair_step;
  out.sm = {count, step, step};
  const encoded_resource encoded{magic, split, owner->ordinal(), count, coscheduled};
  static_assert(sizeof encoded <= sizeof out._internal_padding);
  std::memcpy(out._internal_padding, &encoded, sizeof encoded);
}

std::optional<device_resource> device_resource::read(const CUdevResource& resource) noexcept {
  encoded_resource encoded;
  std::memcpy(&encoded, resource._internal_padding, sizeof encoded);
  device* const owner = this_process().find_device(encoded.ordinal);
  if (encoded.mark != magic || owner == nullptr || encoded.count != resource.sm.smCount)
    return std::nullopt;
  if (encoded.count == 0 || encoded.count > whole(*owner).count || encoded.coscheduled > 1)
    return std::nullopt;
  return device_resource{owner, encoded.count, encoded.coscheduled != 0, encoded.split};
}

CUresult split_by_count(const device_resource& whole, unsigned requested, unsigned flags,
                        sm_split& out) noexcept {
  const bool ignores_coscheduling = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0;
  const bool for_clusters = (flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE) != 0;
  // The second flag has no other effect than this error. Other bits are ignored.
  if (ignores_coscheduling && for_clusters) return CUDA_ERROR_INVALID_VALUE;
  if (requested > whole.count || whole.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned step = ignores_coscheduling ? pair_step : group_step;
  const unsigned group_size =
      std::min((std::max(requested, 1U) + step - 1) / step * step, whole.count);
  out.groups = whole.count / group_size;
  if (group_size == group_step && !ignores_coscheduling)
    out.groups = std::min(out.groups, groups_in_clusters());
  out.group = {whole.owner, group_size, !ignores_coscheduling, next_split_id()};
  return CUDA_SUCCESS;
}

device_resource remaining_after(const device_resource& whole, const sm_split& taken,
                                unsigned used_groups) noexcept {
  return {.owner = whole.owner,
          .count = whole.count - used_groups * taken.group.count,
          .coscheduled = false,
          .split = taken.group.split};
}

CUresult merge_parts(std::span<const device_resource> parts, device_resource& out) noexcept {
  const device_resource whole = device_resource::whole(*parts.front().owner);
  unsigned count = 0;
  bool coscheduled = true;
  for (const device_resource& part : parts) {
    if (part.owner != whole.owner) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    // Overlapping parts count twice, limited to the multiprocessors of the device.
    count += std::min(part.count, whole.count - count);
    coscheduled = coscheduled && part.coscheduled;
  }
  out = {whole.owner, count, coscheduled, 0};
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
