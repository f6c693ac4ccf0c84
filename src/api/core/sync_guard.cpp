// SPDX-License-Identifier: Apache-2.0
// api/core/sync_guard.cpp - guards that forbid or count waits of the host.
#include <weir/core/sync_guard.hpp>
#include <weir/stream/sync_scope.hpp>

#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace weir {

thread_local constinit sync_guard* detail::current_sync_guard = nullptr;

sync_guard::sync_guard(sync_rule rule, call_site at) noexcept
    : previous_{std::exchange(detail::current_sync_guard, this)}, rule_{rule}, created_at_{at} {}

// Removes this guard from the list of the thread. Usually it is the innermost guard, which comes
// first. Guards on the heap may be destroyed in any order.
sync_guard::~sync_guard() {
  sync_guard** link = &detail::current_sync_guard;
  while (*link != nullptr && *link != this) link = &(*link)->previous_;
  if (*link == this) *link = previous_;
}

void sync_guard::throw_if_forbidden(const char* call, call_site at) const {
  if (rule_ != sync_rule::forbidden) return;
  detail::throw_error(
      errc::not_permitted, call, "",
      fmt::format("the host would wait for the device here, which the weir::sync_guard at {}:{} "
                  "forbids; move the wait out of its scope, or permit it with an inner guard of "
                  "sync_rule::allowed",
                  created_at_.file_name(), created_at_.line()),
      at);
}

void sync_guard::before_wait(const char* call, call_site at) {
  throw_if_forbidden(call, at);
  if (rule_ == sync_rule::allowed) return;
  const auto same = [&](const wait& w) {
    return w.where.line() == at.line() && std::string_view{w.where.file_name()} == at.file_name() &&
           std::string_view{w.call} == call;
  };
  const auto found = std::ranges::find_if(waits_, same);
  if (found != waits_.end()) {
    ++found->times;
  } else {
    waits_.push_back({call, at, 1});
  }
}

void detail::throw_if_sync_scope_forbidden(call_site at) {
  throw_if_sync_forbidden("weir::sync_scope", at);
}

}  // namespace weir
