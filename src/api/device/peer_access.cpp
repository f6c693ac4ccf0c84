// SPDX-License-Identifier: Apache-2.0
// api/device/peer_access.cpp - peer access between devices, enabled while a peer_access object
// exists.
#include <weir/device/peer_access.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
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

// The pairs of devices with peer access, each with the number of its peer_access objects.
//
// The lock is held during driver calls. Otherwise one thread could disable the access of a pair
// that another thread has just found enabled. The driver calls no function that takes the lock.
class peer_pairs {
 public:
  void acquire(int accessing, int accessed, call_site at) {
    const std::lock_guard lock{mutex_};
    const auto entry = find(accessing, accessed);
    if (entry != pairs_.end()) {
      ++entry->holders;
      return;
    }
    pairs_.reserve(pairs_.size() + 1);
    const CUcontext peer_context = primary_context(device{accessed}, at);
    const make_current current{primary_context(device{accessing}, at), at};
    const relaxed_capture_mode guard{at};
    const CUresult answer = driver().cuCtxEnablePeerAccess(peer_context, 0);
    const bool was_enabled = answer == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (!was_enabled) check(answer, "cuCtxEnablePeerAccess", device{accessing}, at);
    pairs_.push_back({accessing, accessed, 1, was_enabled});
  }

  void release(int accessing, int accessed, call_site at) {
    const std::lock_guard lock{mutex_};
    const auto entry = find(accessing, accessed);
    if (--entry->holders != 0) return;
    const bool was_enabled = entry->was_enabled;
    pairs_.erase(entry);
    if (was_enabled) return;
    const make_current current{primary_context(device{accessing}, at), at};
    const relaxed_capture_mode guard{at};
    check(driver().cuCtxDisablePeerAccess(primary_context(device{accessed}, at)),
          "cuCtxDisablePeerAccess", device{accessing}, at);
  }

 private:
  struct pair {
    int accessing;
    int accessed;
    int holders;
    bool was_enabled;  // other code enabled the access, so weir does not disable it
  };
  std::vector<pair>::iterator find(int accessing, int accessed) {
    return std::find_if(pairs_.begin(), pairs_.end(), [=](const pair& p) {
      return p.accessing == accessing && p.accessed == accessed;
    });
  }

  std::mutex mutex_;
  std::vector<pair> pairs_;
};

peer_pairs& peer_access_pairs() {
  static never_destroyed<peer_pairs> all;
  return *all;
}

}  // namespace
}  // namespace detail

int peer_attribute_of(device accessing, device accessed, peer_attribute attribute_id,
                      call_site at) {
  int value = 0;
  check(driver().cuDeviceGetP2PAttribute(
            &value, static_cast<abi::CUdevice_P2PAttribute>(attribute_id),
            detail::driver_device(accessing, at), detail::driver_device(accessed, at)),
        "cuDeviceGetP2PAttribute", accessing, at);
  return value;
}

peer_access::peer_access(device accessing, device accessed, call_site at)
    : accessing_device_{accessing.ordinal()}, accessed_device_{accessed.ordinal()} {
  detail::require_outside_host_function("cuCtxEnablePeerAccess", accessing, at);
  detail::peer_access_pairs().acquire(accessing_device_, accessed_device_, at);
}

peer_access::peer_access(peer_access&& other) noexcept
    : accessing_device_{std::exchange(other.accessing_device_, -1)},
      accessed_device_{other.accessed_device_} {}

peer_access& peer_access::operator=(peer_access&& other) noexcept {
  peer_access replacement{std::move(other)};
  std::swap(accessing_device_, replacement.accessing_device_);
  std::swap(accessed_device_, replacement.accessed_device_);
  return *this;
}

peer_access::~peer_access() {
  if (closed()) return;
  detail::run_or_defer([accessing = accessing_device_, accessed = accessed_device_]() noexcept {
    detail::report_failure_of(device{accessing}, "cuCtxDisablePeerAccess", [&] {
      detail::peer_access_pairs().release(accessing, accessed, call_site{});
    });
  });
}

void peer_access::close(call_site at) {
  if (closed()) return;
  detail::require_outside_host_function("cuCtxDisablePeerAccess", accessing_device(), at);
  detail::peer_access_pairs().release(std::exchange(accessing_device_, -1), accessed_device_, at);
}

}  // namespace weir
