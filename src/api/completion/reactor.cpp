// api/completion/reactor.cpp - who finds out that work of a device has ended.
#include <weir/completion/reactor.hpp>

#include "api/core/check.hpp"
#include "reactor/announced_calls.hpp"
#include "reactor/reactor.hpp"

#include <atomic>

namespace weir {
namespace {

detail::reactor& reactor_of(device gpu, const char* call, call_site at) {
  detail::permit(call, gpu, at);
  int devices = 0;
  detail::check(detail::driver().cuDeviceGetCount(&devices), "cuDeviceGetCount", gpu, at);
  if (gpu.ordinal() < 0 || gpu.ordinal() >= devices) detail::fail(errc::invalid_device, call, gpu, at);
  return detail::reactor::of(gpu.ordinal());
}

}  // namespace

reactor_drive::reactor_drive(device gpu, call_site at) : driven_{&reactor_of(gpu, "weir::reactor_drive", at)} {
  driven_->begin_driving();
}

reactor_drive::~reactor_drive() { driven_->end_driving(); }

std::size_t reactor_drive::poll() { return detail::inside_host_function ? 0 : driven_->poll(); }

std::size_t poll_completions(device gpu, call_site at) {
  if (detail::inside_host_function) return 0;
  return reactor_of(gpu, "weir::poll_completions", at).drive(detail::callers::own);
}

calls_past_weir::calls_past_weir() noexcept { detail::announced_calls.fetch_add(1, std::memory_order_relaxed); }
calls_past_weir::~calls_past_weir() { detail::announced_calls.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace weir
