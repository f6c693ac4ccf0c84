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

#include <cstddef>
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
  // The objects that own the memory of each copy and track the streams that use it. There is one
  // entry per copy, which is null for memory that weir does not own.
  std::vector<const tracked_memory*> source_owners;
  std::vector<const tracked_memory*> target_owners;
  bool has_owners = false;  // true if any entry of the two lists is not null

  [[nodiscard]] region source(std::size_t i) const noexcept {
    return side(sources[i], i, source_owners[i]);
  }
  [[nodiscard]] region target(std::size_t i) const noexcept {
    return side(targets[i], i, target_owners[i]);
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
    source_owners.reserve(capacity);
    target_owners.reserve(capacity);
    sizes.reserve(capacity);  // last, because the test above uses its capacity
  }

 private:
  [[nodiscard]] region side(CUdeviceptr address, std::size_t i,
                            const tracked_memory* owner) const noexcept {
    return region{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), sizes[i], owner};
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

[[nodiscard]] bool are_same(const CUmemLocation& a, const CUmemLocation& b) noexcept {
  return a.type == b.type && a.id == b.id;
}

[[nodiscard]] bool have_same_access(const CUmemcpyAttributes& a,
                                    const CUmemcpyAttributes& b) noexcept {
  return a.srcAccessOrder == b.srcAccessOrder && a.flags == b.flags;
}

[[nodiscard]] bool are_same(const CUmemcpyAttributes& a, const CUmemcpyAttributes& b) noexcept {
  return have_same_access(a, b) && are_same(a.srcLocHint, b.srcLocHint) &&
         are_same(a.dstLocHint, b.dstLocHint);
}

[[noreturn, gnu::cold]] void throw_invalid_batch(std::string hint, call_site at) {
  throw_error(errc::invalid_value, "weir::copy_batch", "the batch", std::move(hint), at);
}

// The memory of the copies whose use in this stream must be tracked: buffers that belong to another
// stream. Registers the uses before the batch is queued; record_uses() is called afterwards.
class batch_operands {
 public:
  batch_operands(const copy_list& list, stream_ref stream, CUcontext context, call_site at)
      : stream_{stream}, context_{memory_context(context, at)} {
    if (!list.has_owners) return;
    register_uses(list.source_owners, at);
    register_uses(list.target_owners, at);
  }
  void record_uses(call_site at) const {
    for (const tracked_memory* const owner : to_record_) owner->record_use(stream_, at);
  }
  // Returns true if some memory belongs to another context than the stream, and so may be on
  // another device.
  [[nodiscard]] bool crosses_contexts() const noexcept { return crosses_contexts_; }

 private:
  void register_uses(const std::vector<const tracked_memory*>& owners, call_site at) {
    for (const tracked_memory* const owner : owners) {
      if (owner == nullptr || owner->is_untracked_on(stream_)) continue;
      if (owner->closed()) throw_closed(batch_call, subject::memory(owner->address()), at);
      crosses_contexts_ = crosses_contexts_ || (owner->device_context() != nullptr &&
                                                owner->device_context() != context_);
      if (owner->register_use(stream_, at)) to_record_.push_back(owner);
    }
  }

  stream_ref stream_;
  CUcontext context_;
  bool crosses_contexts_ = false;
  std::vector<const tracked_memory*> to_record_;
};

// Queues the copies one by one. Used if the driver lacks cuMemcpyBatchAsync or does not accept the
// memory in a batch. Throws if a copy has access options, which only a batch supports.
void copy_each(const copy_list& list, stream_ref stream, call_site at) {
  throw_if_capturing(stream.get(), batch_call, at);
  for (const CUmemcpyAttributes& attributes : list.attributes) {
    if (!have_same_access(attributes, attributes_of({}))) {
      throw_error(errc::call_requires_newer_driver, batch_call, stream, at);
    }
  }
  for (std::size_t i = 0; i < list.sizes.size(); ++i)
    copy_region(stream, list.source(i), list.target(i), at);
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
                    "one (std::span::first)",
                    source.bytes, target.bytes),
        at);
  }
  if (source.bytes == 0) return;
  if (list_ == nullptr) list_ = std::make_unique<copy_list>();
  copy_list& list = *list_;
  list.reserve_more();
  const abi::CUmemcpyAttributes attributes = detail::attributes_of(options);
  if (list.attributes.empty() || !detail::are_same(list.attributes.back(), attributes)) {
    list.attributes.push_back(attributes);
    list.firsts.push_back(list.sizes.size());
  }
  list.targets.push_back(detail::device_address(target.address));
  list.sources.push_back(detail::device_address(source.address));
  list.sizes.push_back(source.bytes);
  list.source_owners.push_back(source.owner);
  list.target_owners.push_back(target.owner);
  list.has_owners = list.has_owners || source.owner != nullptr || target.owner != nullptr;
}

void copy_batch::shrink(std::size_t new_size) noexcept {
  if (list_ == nullptr) return;
  copy_list& list = *list_;
  list.targets.resize(new_size);
  list.sources.resize(new_size);
  list.sizes.resize(new_size);
  list.source_owners.resize(new_size);
  list.target_owners.resize(new_size);
  while (!list.firsts.empty() && list.firsts.back() >= new_size) {
    list.firsts.pop_back();
    list.attributes.pop_back();
  }
  if (new_size == 0) list.has_owners = false;
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
  const detail::batch_operands operands{list, stream, context, at};
  // The driver does not accept pool memory of another device in a batch, but accepts it in a single
  // copy.
  if (operands.crosses_contexts()) return detail::copy_each(list, stream, at);

  // Without a current context the driver returns invalid_value, although the stream determines the
  // context.
  const detail::make_current current{context, at};
  const abi::CUresult answer = detail::driver().cuMemcpyBatchAsync_v2(
      list.targets.data(), list.sources.data(), list.sizes.data(), list.sizes.size(),
      list.attributes.data(), list.firsts.data(), list.attributes.size(), handle);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
    return detail::copy_each(list, stream, at);
  detail::check(answer, detail::batch_call, stream, at);
  operands.record_uses(at);
}

}  // namespace weir
