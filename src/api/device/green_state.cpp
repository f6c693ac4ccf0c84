// SPDX-License-Identifier: Apache-2.0
// api/device/green_state.cpp - the green contexts that weir owns, and their destruction.
#include "api/device/green_state.hpp"

#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/primary_context.hpp"
#include "api/profiler/names.hpp"
#include "os/forked_child.hpp"

#include <mutex>

namespace weir::detail {
namespace {

// The list of all green_state objects, its lock and its length. Constant-initialized and never
// destroyed, because the program may have static green_context objects.
constinit std::mutex lock;
constinit green_state* first_green_state = nullptr;
constinit std::atomic<int> green_state_count{0};

}  // namespace

green_state::green_state(abi::CUgreenCtx green, abi::CUcontext as_context, int ordinal) noexcept
    : handle{green}, context{as_context}, device{ordinal} {
  const std::lock_guard hold{lock};
  next_ = first_green_state;
  first_green_state = this;
  green_state_count.fetch_add(1, std::memory_order_release);
}

// The caller holds `lock`.
green_state* green_state::find(abi::CUcontext context) noexcept {
  green_state* found = first_green_state;
  while (found != nullptr && found->context != context) found = found->next_;
  return found;
}

green_state* acquire_green_state(abi::CUcontext context) noexcept {
  if (green_state_count.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard hold{lock};
  green_state* const found = green_state::find(context);
  if (found != nullptr) found->holders_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

bool is_green(abi::CUcontext context) noexcept {
  if (green_state_count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard hold{lock};
  return green_state::find(context) != nullptr;
}

abi::CUcontext memory_context(abi::CUcontext context, call_site at) {
  if (green_state_count.load(std::memory_order_acquire) == 0) return context;
  int ordinal = 0;
  {
    const std::lock_guard hold{lock};
    const green_state* const found = green_state::find(context);
    if (found == nullptr) return context;
    ordinal = found->device;
  }
  return primary_context(weir::device{ordinal}, at);
}

errc green_state::release() noexcept {
  if (os::in_forked_child()) return errc::success;  // the context belongs to the parent
  {
    // The lock prevents that another thread acquires a reference between the last release and the
    // removal from the list.
    const std::lock_guard hold{lock};
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return errc::success;
    green_state** link = &first_green_state;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
    green_state_count.fetch_sub(1, std::memory_order_release);
  }
  if (can_free_now()) return destroy();
  run_or_defer([this] {
    const abi::CUcontext ended = context;
    if (const errc answer = destroy(); answer != errc::success) {
      report_unhandled(answer, "cuGreenCtxDestroy", subject{ended});
    }
  });
  return errc::success;
}

errc green_state::destroy() noexcept {
  forget_name(subject{context});
  const abi::CUresult answer = driver().cuGreenCtxDestroy(handle);
  delete this;
  return static_cast<errc>(answer);
}

void green_state::release_noexcept() noexcept {
  const abi::CUcontext ended = context;
  if (const errc answer = release(); answer != errc::success) {
    report_unhandled(answer, "cuGreenCtxDestroy", subject{ended});
  }
}

}  // namespace weir::detail
