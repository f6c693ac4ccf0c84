// SPDX-License-Identifier: Apache-2.0
// api/deferred/free_backlog.cpp - makes the creation of memory wait for a long backlog of frees.
#include "api/deferred/free_backlog.hpp"

#include "api/core/call_restrictions.hpp"
#include "api/core/sync_allowed.hpp"
#include "os/poll_until.hpp"

namespace weir::detail {
namespace {

constexpr long long max_wait_nanoseconds = 100'000'000;

constinit free_backlog singleton;

}  // namespace

free_backlog& free_backlog::instance() noexcept { return singleton; }

void free_backlog::add(std::size_t bytes) noexcept {
  count_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void free_backlog::remove(std::size_t bytes) noexcept {
  count_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

bool free_backlog::is_long() const noexcept {
  return count_.load(std::memory_order_relaxed) > max_count ||
         bytes_.load(std::memory_order_relaxed) > max_bytes;
}

void free_backlog::wait_if_long() const noexcept {
  if (!is_long()) [[likely]] {
    return;
  }
  if (!can_free_now() || current_sync_guard != nullptr) return;
  static_cast<void>(os::poll_until(max_wait_nanoseconds, true, [this] { return is_long(); }));
}

}  // namespace weir::detail
