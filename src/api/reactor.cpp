// api/reactor.cpp - who finds out that work of a device has ended.
#include <weir/reactor.hpp>

#include "api/check.hpp"
#include "reactor/reactor.hpp"

namespace weir {
namespace {

detail::reactor& reactor_of(device gpu, call_site at) {
  int devices = 0;
  detail::check(detail::driver().cuDeviceGetCount(&devices), "cuDeviceGetCount", gpu, at);
  if (gpu.ordinal() < 0 || gpu.ordinal() >= devices) detail::fail(errc::invalid_device, "weir::reactor_drive", gpu, at);
  return detail::reactor::of(gpu.ordinal());
}

std::size_t drive(detail::reactor& one) {
  if (detail::inside_host_function) return 0;
  return one.drive(detail::callers::own);
}

}  // namespace

reactor_drive::reactor_drive(device gpu, call_site at) : driven_{&reactor_of(gpu, at)} { driven_->begin_driving(); }

reactor_drive::~reactor_drive() { driven_->end_driving(); }

std::size_t reactor_drive::poll() { return drive(*driven_); }

std::size_t poll_completions(device gpu, call_site at) { return drive(reactor_of(gpu, at)); }

}  // namespace weir
