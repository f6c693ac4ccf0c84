// api/completion/sync_wait.cpp - blocks a thread for something that is awaited.
#include <weir/completion/sync_wait.hpp>

#include "api/core/check.hpp"
#include "api/core/may_wait.hpp"
#include "reactor/driven_here.hpp"
#include "reactor/run_loop.hpp"

namespace weir::detail {

constexpr const char* call = "weir::sync_wait";

loop_scope::loop_scope(call_site at) {
  permit(call, {}, at);
  may_wait(call, at);
  loop_ = &run_loop::enter();
}

loop_scope::~loop_scope() { loop_->leave(); }

void loop_scope::run() noexcept { loop_->run(); }

void loop_scope::finish() noexcept { loop_->finish(); }

bool stands_in_for_a_reactor() noexcept { return driven_by_this_thread().any(); }

void fail_used_task() {
  fail(errc::closed, "co_await weir::task", "", "it was awaited before, or moved from: a task is awaited once",
       call_site{});
}

}  // namespace weir::detail
