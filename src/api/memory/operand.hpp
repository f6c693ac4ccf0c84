// SPDX-License-Identifier: Apache-2.0
// api/memory/operand.hpp - tracks the memory that an operation uses while the operation is queued.
#pragma once

#include "api/core/check.hpp"

#include <weir/memory/copy.hpp>

namespace weir::detail {

// Returns true if the memory is pageable: the driver has neither allocated nor registered it. A
// copy may then block the host while the driver copies through a staging buffer.
[[nodiscard]] bool is_pageable(const region& memory);

// A memory argument of an operation. Constructed before the operation is queued. Throws if the
// memory is closed.
//
// If weir owns the memory, registers the use of the memory in the stream. A use that needs no
// tracking costs only a comparison.
class operand {
 public:
  operand(const region& memory, stream_ref stream, const char* call, call_site at)
      : stream_{stream} {
    if (memory.owner == nullptr || memory.owner->is_untracked_on(stream)) return;
    if (memory.owner->closed()) [[unlikely]] {
      throw_closed(call, subject::memory(memory.address), at);
    }
    if (memory.bytes == 0) return;
    if (memory.owner->register_use(stream, at)) to_record_ = memory.owner;
  }

  // Called after the operation was queued.
  void record_uses(call_site at) const {
    if (to_record_ != nullptr) to_record_->record_use(stream_, at);
  }

 private:
  stream_ref stream_;
  const tracked_memory* to_record_ = nullptr;
};

}  // namespace weir::detail
