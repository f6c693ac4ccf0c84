// SPDX-License-Identifier: Apache-2.0
// api/memory/operand.hpp - tracks the memory that an operation uses while the operation is queued.
#pragma once

#include "api/core/check.hpp"
#include "api/memory/captured_uses.hpp"
#include "api/memory/memory_record.hpp"

#include <weir/memory/copy.hpp>

#include <vector>

namespace weir::detail {

// Returns true if the memory is pageable: the driver has neither allocated nor registered it. A
// copy may then block the host while the driver copies through a staging buffer.
[[nodiscard]] bool is_pageable(const region& memory);

// Returns the allocation of weir that an operation uses; null if weir has not allocated the memory.
// Looks up the address of a span or a pointer, which has no owner.
[[nodiscard]] inline const tracked_memory* owner_of(const region& memory) noexcept {
  return memory.owner != nullptr || memory.bytes == 0 ? memory.owner
                                                      : find_allocation(memory.address);
}

// Returns true if a use of the memory on the stream need not be tracked, neither for the free of
// the memory nor for a graph.
[[nodiscard]] inline bool is_untracked(const region& memory, stream_ref stream) noexcept {
  const tracked_memory* const owner = owner_of(memory);
  return owner == nullptr ||
         (owner->is_untracked_on(stream) && !must_be_noted(*owner, stream.get()));
}

// Called before an operation that uses `memory` is queued in `stream`. If weir owns the memory,
// registers the use. Throws if the owner is closed. Zero bytes are not a use.
//
// Returns the owner if its record_use() must be called after the operation was queued; else null. A
// use that needs no tracking costs only a comparison.
[[nodiscard]] inline const tracked_memory* register_operand(const region& memory, stream_ref stream,
                                                            const char* call, call_site at) {
  const tracked_memory* const owner = owner_of(memory);
  if (owner == nullptr) return nullptr;
  if (memory.bytes != 0 && any_capture_active()) [[unlikely]] {
    note_captured_use(*owner, stream.get(), at);
  }
  if (owner->is_untracked_on(stream)) return nullptr;
  if (memory.owner != nullptr && owner->closed()) [[unlikely]] {
    throw_closed(call, subject::memory(memory.address), at);
  }
  return memory.bytes != 0 && memory_record::of(*owner).add_use(stream, at) ? owner : nullptr;
}

// A memory argument of an operation. Constructed before the operation is queued. Throws if the
// memory is closed. If weir owns the memory, registers the use of the memory in the stream.
class operand {
 public:
  operand(const region& memory, stream_ref stream, const char* call, call_site at)
      : stream_{stream}, to_record_{register_operand(memory, stream, call, at)} {}

  // Called after the operation was queued.
  void record_uses(call_site at) const {
    if (to_record_ != nullptr) to_record_->record_use(stream_, at);
  }

 private:
  stream_ref stream_;
  const tracked_memory* to_record_;
};

// Like operand, for an operation with any number of memory arguments. Allocates memory only if a
// use must be recorded after the operation was queued.
class operand_list {
 public:
  explicit operand_list(stream_ref stream) noexcept : stream_{stream} {}

  // Called for each argument before the operation is queued.
  void add(const region& memory, const char* call, call_site at) {
    if (const tracked_memory* const used = register_operand(memory, stream_, call, at))
      to_record_.push_back(used);
  }
  // Called after the operation was queued.
  void record_uses(call_site at) const {
    for (const tracked_memory* const memory : to_record_) memory->record_use(stream_, at);
  }

 private:
  stream_ref stream_;
  std::vector<const tracked_memory*> to_record_;
};

}  // namespace weir::detail
