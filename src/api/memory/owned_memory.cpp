// SPDX-License-Identifier: Apache-2.0
// api/memory/owned_memory.cpp - memory that a buffer owns.
#include <weir/detail/owned_memory.hpp>

#include "api/memory/memory_record.hpp"
#include "os/forked_child.hpp"

#include <utility>

namespace weir::detail {

void owned_memory::move_from(owned_memory& other) noexcept {
  address_ = std::exchange(other.address_, closed_handle<void>());
  bytes_ = std::exchange(other.bytes_, 0);
  tracked_ = std::exchange(other.tracked_, nullptr);
}

void owned_memory::create_record() { tracked_ = &memory_record::create(); }

void owned_memory::own(void* address, std::size_t bytes, CUctx_st* device_context) noexcept {
  address_ = address;
  bytes_ = bytes;
  memory_record::of(*tracked_).begin(address, bytes, device_context);
}

void owned_memory::end_tracking() noexcept {
  // In the child of a fork, a thread of the parent may hold a lock of the index for ever.
  if (tracked_ != nullptr && !os::in_forked_child()) memory_record::of(*tracked_).end();
}

ended_uses owned_memory::take_uses() noexcept {
  end_tracking();
  if (tracked_ == nullptr) return {};
  ended_uses uses{memory_record::of(*std::exchange(tracked_, nullptr))};
  if (uses->empty()) uses.reset();
  return uses;
}

void owned_memory::disown() noexcept {
  static_cast<void>(take_uses());
  address_ = closed_handle<void>();
  bytes_ = 0;
}

}  // namespace weir::detail
