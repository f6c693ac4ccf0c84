// SPDX-License-Identifier: Apache-2.0
// model/capture/capture_list.cpp - finds captures, and invalidates them by the rules of their
// modes.
#include "embedded/model/capture/capture_list.hpp"

#include <algorithm>
#include <mutex>

#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace detail {
constinit std::atomic<int> active_captures{0};
}

capture_list& capture_list::instance() {
  static auto* const list = new capture_list;
  return *list;
}

capture& capture_list::acquire() {
  active_.reserve(active_.size() + 1);
  if (free_.empty()) {
    free_.reserve(all_.size() + 1);
    free_.push_back(&all_.emplace_back());
  }
  capture* acquired = free_.back();
  free_.pop_back();
  active_.push_back(acquired);
  detail::active_captures.fetch_add(1, std::memory_order_release);
  return *acquired;
}

void capture_list::recycle(capture& ended) noexcept {
  std::erase(active_, &ended);
  free_.push_back(&ended);  // capacity was reserved when the object was made
  detail::active_captures.fetch_sub(1, std::memory_order_release);
}

capture* capture_list::find(unsigned long long id) const noexcept {
  const auto found = std::ranges::find_if(active_, [&](const capture* c) { return c->id_ == id; });
  return found == active_.end() ? nullptr : *found;
}

bool capture_list::prohibits_unsafe_calls(const capture& active,
                                          CUstreamCaptureMode thread_mode) noexcept {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
      active.mode_ == CU_STREAM_CAPTURE_MODE_RELAXED)
    return false;
  if (active.thread_ == this_thread_number()) return true;
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         active.mode_ == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult capture_list::check_event_of(unsigned long long id, capture_effect effect) noexcept {
  if (id == 0) return CUDA_SUCCESS;
  capture* const event_capture = find(id);
  if (event_capture == nullptr || !event_capture->valid_) return CUDA_ERROR_INVALID_VALUE;
  if (effect == capture_effect::invalidate) event_capture->valid_ = false;
  return CUDA_ERROR_CAPTURED_EVENT;
}

unsigned long long capture_list::this_thread_number() noexcept {
  static constinit std::atomic<unsigned long long> threads{0};
  static constinit thread_local unsigned long long number = 0;
  if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

unsigned long long capture_list::next_id() noexcept {
  static constinit std::atomic<unsigned long long> captures{0};
  return captures.fetch_add(1, std::memory_order_relaxed) + 1;
}

CUresult detail::invalidate_capture_of(stream& target_stream, CUresult error) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const capture* const active = target_stream.capture();
  capture_list::instance().invalidate_if([&](const capture& c) { return &c == active; });
  return active == nullptr ? CUDA_SUCCESS : error;
}

CUresult detail::check_capture_valid(const stream& target_stream) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const capture* const active = target_stream.capture();
  return active == nullptr || active->valid() ? CUDA_SUCCESS
                                              : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult detail::check_unsafe_call() {
  const CUstreamCaptureMode thread_mode = this_thread().capture_mode;
  const std::lock_guard lock{this_process().graphs_mutex};
  // An invalidated capture still prohibits unsafe calls until it ends.
  const bool is_prohibited = capture_list::instance().invalidate_if(
      [&](const capture& c) { return capture_list::prohibits_unsafe_calls(c, thread_mode); });
  return is_prohibited ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult detail::check_context_not_capturing(const context& owner_context) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const bool is_capturing = capture_list::instance().invalidate_if([&](const capture& c) {
    return capture_list::has_stream(c,
                                    [&](const stream& s) { return &s.owner() == &owner_context; });
  });
  return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult detail::check_legacy_stream_usable(const context& owner_context,
                                            capture_effect effect) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const auto captures_blocking_stream = [&](const capture& c) {
    return capture_list::has_stream(c, [&](const stream& s) {
      return &s.owner() == &owner_context && s.role() == stream_role::blocking;
    });
  };
  // An invalidated capture still forbids the use of the legacy stream.
  if (!capture_list::instance().contains_if(captures_blocking_stream)) return CUDA_SUCCESS;
  if (effect == capture_effect::invalidate)
    capture_list::instance().invalidate_if(captures_blocking_stream);
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

}  // namespace weir::embedded::model
