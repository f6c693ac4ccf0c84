// api/device/peer_access.cpp - access from device to device, switched on while anybody wants it.
#include <weir/device/peer_access.hpp>

#include "api/capture/relaxed_capture_mode.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;

namespace detail {
namespace {

// The pairs that somebody holds. The lock is kept during the driver's calls, so that one thread
// does not switch off what another one has just found on; nothing that a driver calls back takes
// it.
class peer_pairs {
 public:
  void acquire(int from, int to, call_site at) {
    const std::lock_guard lock{mutex_};
    const auto known = find(from, to);
    if (known != pairs_.end()) {
      ++known->holders;
      return;
    }
    pairs_.reserve(pairs_.size() + 1);
    const CUcontext of = primary_context(device{to}, at);
    const make_current current{primary_context(device{from}, at), at};
    const relaxed_capture_mode guard{at};
    const CUresult answer = driver().cuCtxEnablePeerAccess(of, 0);
    const bool was_enabled = answer == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (!was_enabled) check(answer, "cuCtxEnablePeerAccess", device{from}, at);
    pairs_.push_back({from, to, 1, was_enabled});
  }

  void release(int from, int to, call_site at) {
    const std::lock_guard lock{mutex_};
    const auto known = find(from, to);
    if (--known->holders != 0) return;
    const bool was_enabled = known->was_enabled;
    pairs_.erase(known);
    if (was_enabled) return;
    const make_current current{primary_context(device{from}, at), at};
    const relaxed_capture_mode guard{at};
    check(driver().cuCtxDisablePeerAccess(primary_context(device{to}, at)),
          "cuCtxDisablePeerAccess", device{from}, at);
  }

 private:
  struct pair {
    int from;
    int to;
    int holders;
    bool was_enabled;  // before weir, and so for good
  };
  std::vector<pair>::iterator find(int from, int to) {
    return std::find_if(pairs_.begin(), pairs_.end(),
                        [=](const pair& p) { return p.from == from && p.to == to; });
  }

  std::mutex mutex_;
  std::vector<pair> pairs_;
};

peer_pairs& pairs() {
  static never_destroyed<peer_pairs> all;
  return *all;
}

void release_noexcept(int from, int to) noexcept {
  report_failure_of(device{from}, "cuCtxDisablePeerAccess",
                    [&] { pairs().release(from, to, call_site{}); });
}

}  // namespace
}  // namespace detail

int peer_attribute_of(device from, device to, peer_attribute which, call_site at) {
  int value = 0;
  check(driver().cuDeviceGetP2PAttribute(&value, static_cast<abi::CUdevice_P2PAttribute>(which),
                                         detail::driver_device(from, at),
                                         detail::driver_device(to, at)),
        "cuDeviceGetP2PAttribute", from, at);
  return value;
}

peer_access::peer_access(device from, device to, call_site at)
    : from_{from.ordinal()}, to_{to.ordinal()} {
  detail::require_outside_host_function("cuCtxEnablePeerAccess", from, at);
  detail::pairs().acquire(from_, to_, at);
}

peer_access::peer_access(peer_access&& other) noexcept
    : from_{std::exchange(other.from_, -1)}, to_{other.to_} {}

peer_access& peer_access::operator=(peer_access&& other) noexcept {
  peer_access taken{std::move(other)};
  std::swap(from_, taken.from_);
  std::swap(to_, taken.to_);
  return *this;
}

peer_access::~peer_access() {
  if (closed()) return;
  detail::run_or_defer([from = from_, to = to_]() noexcept { detail::release_noexcept(from, to); });
}

void peer_access::close(call_site at) {
  if (closed()) return;
  detail::require_outside_host_function("cuCtxDisablePeerAccess", from(), at);
  detail::pairs().release(std::exchange(from_, -1), to_, at);
}

}  // namespace weir
