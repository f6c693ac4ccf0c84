// api/memory/operand.hpp - the memory of an operation while it is queued.
#pragma once

#include "api/core/check.hpp"

#include <weir/memory/copy.hpp>

namespace weir::detail {

// Is it memory that the driver does not know? A copy may wait then while it is staged.
[[nodiscard]] bool is_pageable(const region& where);

// Made before the operation is queued: refuses closed memory, and notes the stream in memory of
// weir's that is used away from its own. Nothing but a comparison for memory at home, or of others.
class operand {
 public:
  operand(const region& where, stream_ref stream, const char* call, call_site at)
      : stream_{stream} {
    if (where.owner == nullptr || where.owner->is_untracked_on(stream)) return;
    if (where.owner->closed()) [[unlikely]] {
      throw_closed(call, subject::memory(where.address), at);
    }
    if (where.bytes == 0) return;
    if (where.owner->register_use(stream, at)) to_record_ = where.owner;
  }

  // After it was queued.
  void queued(call_site at) const {
    if (to_record_ != nullptr) to_record_->record_use(stream_, at);
  }

 private:
  stream_ref stream_;
  const tracked_memory* to_record_ = nullptr;
};

}  // namespace weir::detail
