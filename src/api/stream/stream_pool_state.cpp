// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_pool_state.cpp - chooses the stream of a pool to lease next.
#include "api/stream/stream_pool_state.hpp"

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace weir::detail {
namespace {

[[nodiscard]] bool is_capturing(CUstream stream, call_site at) {
  return query_capture_status(stream, at) != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Returns true if all work of the stream is done. The stream must not be capturing; other streams
// may be.
[[nodiscard]] bool is_done(CUstream stream, call_site at) {
  const relaxed_capture_mode allowed{at};
  return stream_ref{stream}.done(at);
}

bool try_transition(stream_pool_slot& slot, slot_state expected, slot_state desired) noexcept {
  return slot.state.compare_exchange_strong(expected, desired);
}

[[noreturn, gnu::cold]] void throw_invalid_role(std::string hint, call_site at) {
  throw_error(errc::invalid_value, "weir::stream_pool", "", std::move(hint), at);
}

}  // namespace

stream_pool_role::stream_pool_role(weir::device gpu, const stream_role& role)
    : device_{gpu},
      name_{role.name},
      options_{role.streams},
      settings_{role.settings},
      limit_{role.limit},
      slots_{new stream_pool_slot[role.limit]} {
  for (stream_pool_slot& slot : slots()) slot.role = this;
}

// Searches all slots. A role has few of them, so this costs less than a list for which threads
// would contend.
stream_pool_slot* stream_pool_role::least_recently_returned(
    const slot_set& excluded) const noexcept {
  stream_pool_slot* found = nullptr;
  std::uint64_t oldest_return = 0;
  for (stream_pool_slot& slot : slots()) {
    if (slot.state.load(std::memory_order_relaxed) != slot_state::idle ||
        excluded.test(index_of(slot)))
      continue;
    const std::uint64_t returned_at = slot.returned_at.load(std::memory_order_relaxed);
    if (found == nullptr || returned_at < oldest_return) {
      found = &slot;
      oldest_return = returned_at;
    }
  }
  return found;
}

bool stream_pool_role::reserve() noexcept {
  unsigned now = reserved_.load(std::memory_order_relaxed);
  while (now < limit_) {
    if (reserved_.compare_exchange_weak(now, now + 1)) return true;
  }
  return false;
}

// A thread reserves a stream before it searches for one. The search may miss a free stream while
// other threads return and lease streams. Because of the reservation a free stream exists, unless
// the rest are capturing, and the thread searches again.
stream_pool_slot* stream_pool_role::acquire(call_site at) {
  if (!reserve()) return nullptr;
  try {
    stream_pool_slot* const slot = pick(at);
    if (slot == nullptr) reserved_.fetch_sub(1);
    return slot;
  } catch (...) {
    reserved_.fetch_sub(1);
    throw;
  }
}

void stream_pool_role::make_idle(stream_pool_slot& slot) noexcept {
  slot.returned_at.store(clock_.fetch_add(1, std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  slot.state.store(slot_state::idle);
}

void stream_pool_role::return_slot(stream_pool_slot& slot) noexcept {
  make_idle(slot);
  reserved_.fetch_sub(1);
}

// Called by a thread that has a reservation and has found no free slot. `captured` are the slots
// whose streams it has found capturing.
//
// Each leased stream and each thread that searches has one reservation. Idle streams that are
// capturing have none. If the sum of both numbers does not exceed the limit, a slot is left for the
// caller.
bool stream_pool_role::may_have_free_slot(const slot_set& captured) const noexcept {
  unsigned idle_but_capturing = 0;
  for (const stream_pool_slot& slot : slots()) {
    if (captured.test(index_of(slot)) && slot.state.load() == slot_state::idle)
      ++idle_but_capturing;
  }
  return reserved_.load() + idle_but_capturing <= limit_;
}

stream_pool_slot* stream_pool_role::pick(call_site at) {
  slot_set captured;  // slots whose streams this call has found capturing
  for (;;) {
    stream_pool_slot* const slot = least_recently_returned(captured);
    if (slot == nullptr) {
      if (stream_pool_slot* const fresh = make(slot_state::leased, at)) return fresh;
      if (!may_have_free_slot(captured)) return nullptr;
      std::this_thread::yield();
      continue;
    }
    if (!try_transition(*slot, slot_state::idle, slot_state::leased)) continue;
    try {
      const CUstream stream = slot->handle.load(std::memory_order_relaxed);
      if (!is_capturing(stream, at)) {
        // A new stream is preferred to one whose pending work would delay the caller's.
        stream_pool_slot* const fresh =
            is_done(stream, at) ? nullptr : make(slot_state::leased, at);
        if (fresh == nullptr) return slot;
        slot->state.store(slot_state::idle);
        return fresh;
      }
    } catch (...) {
      slot->state.store(slot_state::idle);
      throw;
    }
    captured.set(index_of(*slot));
    make_idle(*slot);  // as the most recently returned one, so that other threads examine it last
  }
}

stream_pool_slot* stream_pool_role::make(slot_state initial_state, call_site at) {
  for (stream_pool_slot& slot : slots()) {
    if (slot.state.load(std::memory_order_relaxed) != slot_state::empty) continue;
    if (!try_transition(slot, slot_state::empty, slot_state::creating)) continue;
    try {
      slot.owner.emplace(make_stream(device_, options_, settings_, at));
    } catch (...) {
      slot.state.store(slot_state::empty);
      throw;
    }
    slot.handle.store(slot.owner->get(), std::memory_order_release);
    slot.state.store(initial_state);
    return &slot;
  }
  return nullptr;
}

CUstream stream_pool_role::stream_of(stream_pool_slot& slot, bool& is_being_created, call_site at) {
  const CUstream stream = slot.handle.load(std::memory_order_acquire);
  if (stream != nullptr) return is_capturing(stream, at) ? nullptr : stream;
  if (const stream_pool_slot* const fresh = make(slot_state::idle, at)) {
    return fresh->handle.load(std::memory_order_relaxed);
  }
  is_being_created = true;  // by another thread at this moment
  return nullptr;
}

CUstream stream_pool_role::next(call_site at) {
  for (;;) {
    bool creation_in_progress = false;
    const unsigned first = next_index_.fetch_add(1, std::memory_order_relaxed);
    for (unsigned skipped = 0; skipped < limit_; ++skipped) {
      stream_pool_slot& slot = slots_[(first + skipped) % limit_];
      const CUstream stream = stream_of(slot, creation_in_progress, at);
      if (stream == nullptr) continue;
      if (skipped == 0) return stream;
      // Fails if another thread has advanced the index, which must not step back.
      unsigned following = first + 1;
      next_index_.compare_exchange_strong(following, following + skipped,
                                          std::memory_order_relaxed);
      return stream;
    }
    if (!creation_in_progress) return nullptr;
    std::this_thread::yield();
  }
}

stream_pool::counts stream_pool_role::count() const noexcept {
  stream_pool::counts totals{.limit = limit_};
  for (const stream_pool_slot& slot : slots()) {
    const slot_state state = slot.state.load(std::memory_order_relaxed);
    totals.created += state == slot_state::idle || state == slot_state::leased ? 1 : 0;
    totals.leased += state == slot_state::leased ? 1 : 0;
  }
  return totals;
}

void stream_pool_role::destroy_idle() noexcept {
  for (stream_pool_slot& slot : slots()) {
    if (!try_transition(slot, slot_state::idle, slot_state::creating)) continue;
    slot.handle.store(nullptr, std::memory_order_relaxed);
    slot.owner.reset();
    slot.state.store(slot_state::empty);
  }
}

void stream_pool_role::throw_exhausted(const char* call, call_site at) const {
  const stream_pool::counts totals = count();
  throw_error(
      errc::exhausted, call, fmt::format("stream pool's role '{}'", name_),
      fmt::format("{} of the role's {} streams are leased, and the others were returned during "
                  "captures; return leases, wait with acquire_for(), or set a higher limit",
                  totals.leased, totals.limit),
      at);
}

void stream_pool_role::throw_all_capturing(const char* call, call_site at) const {
  throw_error(errc::exhausted, call, fmt::format("stream pool's role '{}'", name_),
              fmt::format("all {} streams of the role take part in captures; end a capture, or set "
                          "a higher limit",
                          limit_),
              at);
}

stream_pool_state::stream_pool_state(weir::device gpu, std::span<const stream_role> roles,
                                     call_site at)
    : device_{gpu} {
  if (roles.empty()) throw_invalid_role("the list of roles is empty; pass at least one role", at);
  for (const stream_role& role : roles) {
    if (role.limit == 0 || role.limit > max_streams_per_role) {
      throw_invalid_role(fmt::format("the limit of role '{}' is {}; use 1 to {}", role.name,
                                     role.limit, max_streams_per_role),
                         at);
    }
    const auto has_name = [&](const auto& existing) { return existing->name() == role.name; };
    if (std::ranges::any_of(roles_, has_name))
      throw_invalid_role(
          fmt::format("two roles have the name '{}'; give each role its own name", role.name), at);
    roles_.push_back(std::make_unique<stream_pool_role>(gpu, role));
  }
  // Creates a stream of each role, so that unsupported options are reported here.
  for (const auto& role : roles_) static_cast<void>(role->make(slot_state::idle, at));
}

stream_pool_role& stream_pool_state::role(std::string_view name, const char* call, call_site at) {
  if (name.empty()) return *roles_.front();
  const auto found = std::ranges::find(
      roles_, name, [](const auto& role) -> std::string_view { return role->name(); });
  if (found != roles_.end()) return **found;
  std::string names;
  for (const auto& role : roles_)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", role->name());
  throw_error(errc::invalid_value, call, "stream pool",
              fmt::format("the pool has no role '{}'; use one of {}", name, names), at);
}

// If close() runs concurrently, either this function sees closed_ and destroys the stream, or
// close() sees that the slot is idle and destroys it.
void stream_pool_state::return_slot(stream_pool_slot& slot) noexcept {
  slot.role->return_slot(slot);
  if (closed_.load()) close();
}

void stream_pool_state::close() noexcept {
  closed_.store(true);
  for (const auto& role : roles_) role->destroy_idle();
}

}  // namespace weir::detail
