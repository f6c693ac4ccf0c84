// SPDX-License-Identifier: Apache-2.0
// api/completion/sync_wait.cpp - blocks a thread until an awaitable is ready.
#include <weir/completion/sync_wait.hpp>

#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "reactor/run_loop.hpp"
#include "reactor/thread_reactors.hpp"

namespace weir::detail {

constexpr const char* call_name = "weir::sync_wait";

run_loop_scope::run_loop_scope(call_site at) {
  require_outside_host_function(call_name, {}, at);
  require_sync_allowed(call_name, at);
  loop_ = &run_loop::enter();
}

run_loop_scope::~run_loop_scope() { loop_->leave(); }

void run_loop_scope::run() noexcept { loop_->run(); }

void run_loop_scope::finish() noexcept { loop_->finish(); }

bool polls_a_reactor() noexcept { return this_thread_reactors().devices() != 0; }

void throw_used_task() {
  throw_error(errc::closed, "co_await weir::task", "",
              "the task was awaited before or moved from; await each task once", call_site{});
}

}  // namespace weir::detail
