// SPDX-License-Identifier: Apache-2.0
// api/memory/copy_batch.cpp - many copies in one driver call.
#include <weir/memory/copy_batch.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/memory/memory_location.hpp"
#include "api/memory/operand.hpp"
#include "api/stream/stream_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {
namespace detail {

// The copies of a batch, as arrays in the layout that the driver takes.
struct copy_list {
  std::vector<CUdeviceptr> targets;
  std::vector<CUdeviceptr> sources;
  std::vector<std::size_t> sizes;
  // attributes[i] applies to the copies from index firsts[i] up to firsts[i + 1].
  std::vector<CUmemcpyAttributes> attributes;
  std::vector<std::size_t> firsts;
  // The objects that own the memory of a copy and track the streams that use it. Null for memory
  // that weir does not own.
  struct copy_owners {
    const tracked_memory* source;
    const tracked_memory* target;
  };
  std::vector<copy_owners> owners;  // one entry per copy

  [[nodiscard]] region source(std::size_t i) const noexcept {
    return {to_pointer(sources[i]), sizes[i], owners[i].source};
  }
  [[nodiscard]] region target(std::size_t i) const noexcept {
    return {to_pointer(targets[i]), sizes[i], owners[i].target};
  }

  // Makes room in all arrays for one more copy, so that a failure cannot leave it in only some of
  // them.
  void reserve_more() {
    if (sizes.size() < sizes.capacity()) return;
    const std::size_t capacity = sizes.empty() ? 16 : 2 * sizes.size();
    targets.reserve(capacity);
    sources.reserve(capacity);
    attributes.reserve(capacity);
    firsts.reserve(capacity);
    owners.reserve(capacity);
    sizes.reserve(capacity);  // last, because the test above uses its capacity
  }
};

namespace {

constexpr const char* batch_call = "cuMemcpyBatchAsync";

[[nodiscard]] CUmemcpyAttributes attributes_of(copy_options options) noexcept {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(options.source_access);
  attributes.flags = options.overlap_with_kernels ? CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE
                                                  : CU_MEMCPY_FLAG_DEFAULT;
  if (options.source_hint) attributes.srcLocHint = location_of(*options.source_hint);
  if (options.target_hint) attributes.dstLocHint = location_of(*options.target_hint);
  return attributes;
}

[[nodiscard]] bool are_equal(const CUmemcpyAttributes& a, const CUmemcpyAttributes& b) noexcept {
  static_assert(std::has_unique_object_representations_v<CUmemcpyAttributes>);  // no padding
  return std::memcmp(&a, &b, sizeof a) == 0;
}

[[noreturn, gnu::cold]] void throw_invalid_batch(std::string hint, call_site at) {
  throw_error(errc::invalid_value, "weir::copy_batch", "the batch", std::move(hint), at);
}

// Returns true if memory of weir belongs to another context than `context`, the stream's, and so
// may be on another device.
[[nodiscard]] bool crosses_contexts(const copy_list& list, CUcontext context, call_site at) {
  const CUcontext own_context = memory_context(context, at);
  const auto is_elsewhere = [&](const tracked_memory* owner) {
    return owner != nullptr && owner->device_context() != nullptr &&
           owner->device_context() != own_context;
  };
  return std::ranges::any_of(list.owners, [&](const copy_list::copy_owners& each) {
    return is_elsewhere(each.source) || is_elsewhere(each.target);
  });
}

// Waits for the stream if a source is pageable memory: a single copy of it may read the source
// before the work queued earlier has written it.
void wait_for_pageable_sources(const copy_list& list, stream_ref stream, call_site at) {
  for (std::size_t i = 0; i < list.sizes.size(); ++i) {
    if (is_pageable(list.source(i))) return stream.sync(at);
  }
}

// Queues the copies one by one. Used if the driver lacks cuMemcpyBatchAsync or does not accept the
// memory in a batch. Throws if a copy has access options, which only a batch supports; `reason`
// then says why the batch cannot be used, and may be empty if the driver is too old.
void copy_each(const copy_list& list, stream_ref stream, std::string reason, call_site at) {
  throw_if_capturing(stream.get(), batch_call, at);  // as the driver refuses a batch
  const CUmemcpyAttributes defaults = attributes_of({});
  for (const CUmemcpyAttributes& each : list.attributes) {
    // Hints may differ, because they are ignored here.
    if (each.srcAccessOrder != defaults.srcAccessOrder || each.flags != defaults.flags)
      throw_error(errc::call_requires_newer_driver, batch_call, to_text(stream), std::move(reason),
                  at);
  }
  wait_for_pageable_sources(list, stream, at);
  for (std::size_t i = 0; i < list.sizes.size(); ++i)
    copy_region(stream, list.source(i), list.target(i), at);
}

// Returns true if the driver may read a source after the batch call, although the source is to be
// read during the call. An H200's driver (580) does so with more than 64 KiB of pageable memory.
[[nodiscard]] bool reads_sources_late(const copy_list& list) {
  constexpr std::size_t max_staged_bytes = std::size_t{64} << 10;
  std::size_t group = 0;
  for (std::size_t i = 0; i < list.sizes.size(); ++i) {
    if (group + 1 < list.firsts.size() && list.firsts[group + 1] == i) ++group;
    if (list.attributes[group].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL &&
        list.sizes[i] > max_staged_bytes && is_pageable(list.source(i)))
      return true;
  }
  return false;
}

// Called only if a sync_guard is active, because it queries the driver. Returns true if one of the
// copies involves pageable memory and may block the host.
[[nodiscard]] bool may_stage(const copy_list& list) {
  for (std::size_t i = 0; i < list.sizes.size(); ++i) {
    if (is_pageable(list.source(i)) || is_pageable(list.target(i))) return true;
  }
  return false;
}

}  // namespace
}  // namespace detail

using detail::copy_list;

copy_batch::copy_batch() noexcept = default;
copy_batch::copy_batch(copy_batch&& other) noexcept = default;
copy_batch& copy_batch::operator=(copy_batch&& other) noexcept = default;
copy_batch::~copy_batch() = default;

std::size_t copy_batch::size() const noexcept { return list_ != nullptr ? list_->sizes.size() : 0; }

void copy_batch::check_pair_counts(std::size_t sources, std::size_t targets, std::size_t options,
                                   call_site at) {
  if (sources != targets)
    detail::throw_invalid_batch(
        fmt::format("there are {} sources for {} targets; pass one target for each source", sources,
                    targets),
        at);
  if (options > 1 && options != sources) {
    detail::throw_invalid_batch(
        fmt::format("there are {} sets of options for {} copies; pass one set for all, or one for "
                    "each",
                    options, sources),
        at);
  }
}

void copy_batch::add_region(const detail::region& source, const detail::region& target,
                            copy_options options, call_site at) {
  for (const detail::region* const side : {&source, &target}) {
    if (side->owner != nullptr && side->owner->closed()) {
      detail::throw_closed("weir::copy_batch::add", detail::subject::memory(side->address), at);
    }
  }
  if (source.bytes != target.bytes) {
    detail::throw_invalid_batch(
        fmt::format("a source of {} bytes does not match a target of {}; pass a part of the longer "
                    "one, such as x.first(n)",
                    source.bytes, target.bytes),
        at);
  }
  if (source.bytes == 0) return;
  if (list_ == nullptr) list_ = std::make_unique<copy_list>();
  copy_list& list = *list_;
  list.reserve_more();
  const abi::CUmemcpyAttributes attributes = detail::attributes_of(options);
  if (list.attributes.empty() || !detail::are_equal(list.attributes.back(), attributes)) {
    list.attributes.push_back(attributes);
    list.firsts.push_back(list.sizes.size());
  }
  list.targets.push_back(detail::device_address(target.address));
  list.sources.push_back(detail::device_address(source.address));
  list.sizes.push_back(source.bytes);
  list.owners.push_back({source.owner, target.owner});
}

void copy_batch::shrink(std::size_t new_size) noexcept {
  if (list_ == nullptr) return;
  copy_list& list = *list_;
  list.targets.resize(new_size);
  list.sources.resize(new_size);
  list.sizes.resize(new_size);
  list.owners.resize(new_size);
  while (!list.firsts.empty() && list.firsts.back() >= new_size) {
    list.firsts.pop_back();
    list.attributes.pop_back();
  }
}

void copy_batch::enqueue(stream_ref stream, call_site at) const {
  CUstream_st* const handle = detail::require_open(stream, detail::batch_call, at);
  if (empty()) return;
  if (detail::is_legacy(handle)) {
    detail::throw_error(errc::invalid_value, detail::batch_call, detail::to_text(stream),
                        "the legacy default stream does not accept batches; use another stream",
                        at);
  }
  // The driver refuses a batch in a capture, and the capture stays valid. Therefore the check is
  // only needed for a better error message, and is omitted if no capture was begun through weir.
  if (detail::active_capture_count.load(std::memory_order_relaxed) != 0)
    detail::throw_if_capturing(handle, detail::batch_call, at);

  copy_list& list = *list_;
  if (detail::current_sync_guard != nullptr && detail::may_stage(list)) [[unlikely]] {
    detail::require_sync_allowed(detail::batch_call, at);
  }
  CUctx_st* const context = detail::context_of(handle, at);
  detail::operand_list operands{stream};
  for (std::size_t i = 0; i < list.sizes.size(); ++i) {
    operands.add(list.source(i), detail::batch_call, at);
    operands.add(list.target(i), detail::batch_call, at);
  }
  // The driver does not accept pool memory of another device in a batch, but accepts it in a single
  // copy.
  if (detail::crosses_contexts(list, context, at)) {
    const char* const reason =
        "memory of another device is copied without the driver's batch call, which alone supports "
        "access options; enqueue its copies without such options";
    return detail::copy_each(list, stream, reason, at);
  }

  // Without a current context the driver returns invalid_value, although the stream determines the
  // context.
  const detail::make_current current{context, at};
  const abi::CUresult answer = detail::driver().cuMemcpyBatchAsync_v2(
      list.targets.data(), list.sources.data(), list.sizes.data(), list.sizes.size(),
      list.attributes.data(), list.firsts.data(), list.attributes.size(), handle);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    return detail::copy_each(list, stream, {}, at);
  detail::check(answer, detail::batch_call, stream, at);
  operands.record_uses(at);
  if (detail::reads_sources_late(list)) stream.sync(at);
}

}  // namespace weir
