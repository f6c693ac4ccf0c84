// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_pool.cpp - pools of streams and their leases.
#include <weir/stream/stream_pool.hpp>

#include "api/core/check.hpp"
#include "api/stream/stream_pool_state.hpp"
#include "os/poll_until.hpp"

#include <span>
#include <utility>

namespace weir {

stream_lease::stream_lease(std::shared_ptr<detail::stream_pool_state> state,
                           detail::stream_pool_slot& slot) noexcept
    : stream_ref{slot.owner->ref()}, state_{std::move(state)}, slot_{&slot} {}

stream_lease& stream_lease::operator=(stream_lease&& other) noexcept {
  stream_lease replacement{std::move(other)};
  replacement.exchange_handle(exchange_handle(replacement.get()));
  std::swap(state_, replacement.state_);
  std::swap(slot_, replacement.slot_);
  return *this;
}

void stream_lease::close() noexcept {
  if (closed()) return;
  state_->return_slot(*slot_);
  reset();
}

stream_pool::stream_pool(weir::device gpu, stream_role only, call_site at)
    : stream_pool{gpu, {only}, at} {}

stream_pool::stream_pool(weir::device gpu, std::initializer_list<stream_role> roles, call_site at)
    : state_{std::make_shared<detail::stream_pool_state>(
          gpu, std::span{roles.begin(), roles.size()}, at)} {}

// Not defaulted: `other` becomes closed, and the old state of this object ends here.
stream_pool& stream_pool::operator=(stream_pool&& other) noexcept {
  stream_pool replacement{std::move(other)};
  std::swap(state_, replacement.state_);
  return *this;
}

void stream_pool::close() noexcept {
  if (closed()) return;
  state_->close();
  state_.reset();
}

detail::stream_pool_state& stream_pool::open(const char* call, call_site at) const {
  detail::require_outside_host_function(call, {}, at);
  if (closed()) detail::throw_error(errc::closed, call, {}, at);
  return *state_;
}

stream_lease stream_pool::acquire(std::string_view role, call_site at) const {
  constexpr const char* call = "weir::stream_pool::acquire";
  detail::stream_pool_role& role_state = open(call, at).role(role, call, at);
  if (detail::stream_pool_slot* const slot = role_state.acquire(at))
    return stream_lease{state_, *slot};
  role_state.throw_exhausted(call, at);
}

std::optional<stream_lease> stream_pool::try_acquire(std::string_view role, call_site at) const {
  return acquire_for_nanoseconds(0, role, at);
}

std::optional<stream_lease> stream_pool::acquire_for_nanoseconds(long long timeout,
                                                                 std::string_view role,
                                                                 call_site at) const {
  constexpr const char* call = "weir::stream_pool::acquire_for";
  detail::stream_pool_role& role_state = open(call, at).role(role, call, at);
  detail::stream_pool_slot* slot = nullptr;
  const errc answer = os::poll_until(timeout, errc::not_ready, [&] {
    slot = role_state.acquire(at);
    return slot != nullptr ? errc::success : errc::not_ready;
  });
  if (answer == errc::not_ready) return std::nullopt;
  return stream_lease{state_, *slot};
}

stream_ref stream_pool::next(std::string_view role, call_site at) const {
  constexpr const char* call = "weir::stream_pool::next";
  detail::stream_pool_role& role_state = open(call, at).role(role, call, at);
  if (CUstream_st* const stream = role_state.next(at)) return stream_ref{stream};
  role_state.throw_all_capturing(call, at);
}

stream_pool::counts stream_pool::count(std::string_view role, call_site at) const {
  constexpr const char* call = "weir::stream_pool::count";
  if (closed()) detail::throw_error(errc::closed, call, {}, at);
  return state_->role(role, call, at).count();
}

weir::device stream_pool::device(call_site at) const {
  if (closed()) detail::throw_error(errc::closed, "weir::stream_pool::device", {}, at);
  return state_->device();
}

}  // namespace weir
