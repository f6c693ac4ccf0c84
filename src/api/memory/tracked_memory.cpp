// SPDX-License-Identifier: Apache-2.0
// api/memory/tracked_memory.cpp - an allocation of weir and the streams that use it.
#include <weir/detail/tracked_memory.hpp>

#include "api/core/check.hpp"
#include "api/memory/memory_record.hpp"

namespace weir::detail {

bool tracked_memory::register_use(stream_ref s, call_site at) const {
  require_open(s, "weir::used_on", at);
  if (closed()) throw_closed("weir::used_on", subject::memory(load(address_)), at);
  return memory_record::of(*this).add_use(s, at);
}

void tracked_memory::record_use(stream_ref s, call_site at) const {
  memory_record::of(*this).uses().record(s.get(), at);
}

}  // namespace weir::detail
