// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_begin.hpp - begins captures.
#pragma once

#include "api/capture/capture_registry.hpp"
#include "os/forked_child.hpp"

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>

#include <mutex>

namespace weir::detail {

[[nodiscard]] constexpr bool is_valid_mode(capture_mode mode) noexcept {
  return mode <= capture_mode::relaxed;
}

// The existing graph that a capture records into.
struct capture_target {
  CUgraph graph;
  frontier_list dependencies;
  bool borrowed;  // the graph keeps its owner; if false, the capture owns it from the begin on
  CUcontext instantiate_context = nullptr;  // where the graph was captured before; null if unknown
  bool is_destroyed = false;  // set if the begin failed and the driver destroyed the graph
};

// Begins a capture and registers it. If it throws, no capture is open.
[[nodiscard]] active_capture begin_active_capture(stream_ref stream, capture_options options,
                                                  bool scoped, call_site at,
                                                  capture_target* target = nullptr);

// Held while a capture begins, and while the reclaimer thread records events in streams that must
// not capture. Such a record would become part of the capture, and a query would invalidate it.
// Does nothing in a forked child, which has no reclaimer thread.
class capture_begin_lock {
 public:
  capture_begin_lock() noexcept : locked_{!in_forked_child()} {
    if (locked_) mutex_.lock();
  }
  capture_begin_lock(const capture_begin_lock&) = delete;
  capture_begin_lock& operator=(const capture_begin_lock&) = delete;
  ~capture_begin_lock() {
    if (locked_) mutex_.unlock();
  }

 private:
  static inline constinit std::mutex mutex_;

  bool locked_;
};

}  // namespace weir::detail
