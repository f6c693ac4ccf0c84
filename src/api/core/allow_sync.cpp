// api/core/allow_sync.cpp - guards against waits of the host.
#include <weir/core/allow_sync.hpp>
#include <weir/stream/sync_scope.hpp>

#include "api/core/check.hpp"
#include "api/core/may_wait.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace weir {

thread_local constinit allow_sync* detail::innermost_guard = nullptr;

allow_sync::allow_sync(syncs rule, call_site at) noexcept
    : before_{std::exchange(detail::innermost_guard, this)}, rule_{rule}, began_{at} {}

// Nearly always the innermost one; but guards on the heap may end in any order.
allow_sync::~allow_sync() {
  allow_sync** place = &detail::innermost_guard;
  while (*place != nullptr && *place != this) place = &(*place)->before_;
  if (*place == this) *place = before_;
}

void allow_sync::refuse(const char* call, call_site at) const {
  if (rule_ != syncs::refused) return;
  detail::fail(errc::not_permitted, call, "",
               fmt::format("the host would wait for the device here, which the weir::allow_sync of {}:{} forbids",
                           began_.file_name(), began_.line()),
               at);
}

void allow_sync::about_to_wait(const char* call, call_site at) {
  refuse(call, at);
  if (rule_ == syncs::allowed) return;
  const auto same = [&](const wait& w) {
    return w.where.line() == at.line() && std::string_view{w.where.file_name()} == at.file_name() &&
           std::string_view{w.call} == call;
  };
  const auto found = std::ranges::find_if(seen_, same);
  if (found != seen_.end()) {
    ++found->times;
  } else {
    seen_.push_back({call, at, 1});
  }
}

void detail::refuse_sync_scope(call_site at) { refuse_wait("weir::sync_scope", at); }

}  // namespace weir
