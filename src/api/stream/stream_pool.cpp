// api/stream/stream_pool.cpp - pools of streams and their leases.
#include <weir/stream/stream_pool.hpp>

#include "api/core/check.hpp"
#include "api/stream/patience.hpp"
#include "api/stream/pool_core.hpp"

#include <span>
#include <utility>

namespace weir {

stream_lease::stream_lease(detail::pool_core& core, detail::pool_slot& slot) noexcept
    : ref_{slot.owner->ref()}, core_{&core}, slot_{&slot} {
  core.hold();
}

stream_lease& stream_lease::operator=(stream_lease&& other) noexcept {
  stream_lease taken{std::move(other)};
  std::swap(ref_, taken.ref_);
  std::swap(core_, taken.core_);
  std::swap(slot_, taken.slot_);
  return *this;
}

void stream_lease::close() noexcept {
  if (closed()) return;
  detail::pool_core& core = *core_;
  core.take_back(*slot_);
  forget();
  core.let_go();
}

stream_pool::stream_pool(weir::device gpu, stream_role only, call_site at) : stream_pool{gpu, {only}, at} {}

stream_pool::stream_pool(weir::device gpu, std::initializer_list<stream_role> roles, call_site at)
    : core_{new detail::pool_core{gpu, {roles.begin(), roles.size()}, at}} {}

stream_pool& stream_pool::operator=(stream_pool&& other) noexcept {
  stream_pool taken{std::move(other)};
  std::swap(core_, taken.core_);
  return *this;
}

void stream_pool::close() noexcept {
  if (closed()) return;
  core_->close();
  std::exchange(core_, nullptr)->let_go();
}

detail::pool_core& stream_pool::open(const char* call, call_site at) const {
  detail::permit(call, {}, at);
  if (closed()) detail::fail(errc::closed, call, {}, at);
  return *core_;
}

stream_lease stream_pool::acquire(std::string_view role, call_site at) const {
  constexpr const char* call = "weir::stream_pool::acquire";
  detail::pool_core& core = open(call, at);
  detail::pool_role& from = core.role(role, call, at);
  if (detail::pool_slot* const slot = core.lend(from, at)) return stream_lease{core, *slot};
  detail::fail(errc::exhausted, call, from.to_text(), from.why_exhausted(), at);
}

std::optional<stream_lease> stream_pool::try_acquire(std::string_view role, call_site at) const {
  return acquire_for_nanoseconds(0, role, at);
}

std::optional<stream_lease> stream_pool::acquire_for_nanoseconds(long long timeout, std::string_view role,
                                                                 call_site at) const {
  constexpr const char* call = "weir::stream_pool::acquire_for";
  detail::pool_core& core = open(call, at);
  detail::pool_role& from = core.role(role, call, at);
  detail::pool_slot* slot = nullptr;
  const errc answer = detail::ask_patiently(timeout, [&] {
    slot = core.lend(from, at);
    return slot != nullptr ? errc::success : errc::not_ready;
  });
  if (answer == errc::not_ready) return std::nullopt;
  return stream_lease{core, *slot};
}

stream_ref stream_pool::next(std::string_view role, call_site at) const {
  constexpr const char* call = "weir::stream_pool::next";
  detail::pool_core& core = open(call, at);
  detail::pool_role& from = core.role(role, call, at);
  if (CUstream_st* const stream = from.next(core.device(), at)) return stream_ref{stream};
  detail::fail(errc::exhausted, call, from.to_text(), from.why_exhausted(), at);
}

stream_pool::counts stream_pool::count(std::string_view role, call_site at) const {
  constexpr const char* call = "weir::stream_pool::count";
  if (closed()) detail::fail(errc::closed, call, {}, at);
  return core_->role(role, call, at).count();
}

weir::device stream_pool::device(call_site at) const {
  if (closed()) detail::fail(errc::closed, "weir::stream_pool::device", {}, at);
  return core_->device();
}

}  // namespace weir
