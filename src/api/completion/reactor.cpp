// SPDX-License-Identifier: Apache-2.0
// api/completion/reactor.cpp - polling by threads of the program, and announced external launches.
#include <weir/completion/reactor.hpp>

#include "api/core/check.hpp"
#include "reactor/contention_detector.hpp"
#include "reactor/reactor.hpp"

#include <atomic>

namespace weir {
namespace {

detail::reactor& find_reactor(device gpu, const char* call, call_site at) {
  detail::require_outside_host_function(call, gpu, at);
  int devices = 0;
  detail::check(detail::driver().cuDeviceGetCount(&devices), "cuDeviceGetCount", gpu, at);
  if (gpu.ordinal() < 0 || gpu.ordinal() >= devices)
    detail::throw_error(errc::invalid_device, call, gpu, at);
  return detail::reactor::for_device(gpu.ordinal());
}

}  // namespace

completion_poller::completion_poller(device gpu, call_site at)
    : reactor_{&find_reactor(gpu, "weir::completion_poller", at)} {
  reactor_->add_poller();
}

completion_poller::~completion_poller() { reactor_->remove_poller(); }

std::size_t completion_poller::poll() {
  return detail::inside_host_function ? 0 : reactor_->poll();
}

std::size_t poll_completions(device gpu, call_site at) {
  if (detail::inside_host_function) return 0;
  return find_reactor(gpu, "weir::poll_completions", at).run_once(detail::caller_kind::poller);
}

expect_external_launches::expect_external_launches() noexcept {
  detail::external_callers.fetch_add(1, std::memory_order_relaxed);
}
expect_external_launches::~expect_external_launches() {
  detail::external_callers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weir
