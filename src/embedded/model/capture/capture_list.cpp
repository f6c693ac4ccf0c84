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

capture& capture_list::unused() {
  const auto found = std::ranges::find(captures_, nullptr, &capture::graph_);
  return found == captures_.end() ? captures_.emplace_back() : *found;
}

capture* capture_list::find(unsigned long long id) noexcept {
  const auto found = std::ranges::find_if(
      captures_, [&](const capture& c) { return c.graph_ != nullptr && c.id_ == id; });
  return found == captures_.end() ? nullptr : &*found;
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

CUresult detail::invalidate_capture_of(stream& target_stream, CUresult error) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  capture* const active = target_stream.capture();
  return active == nullptr ? CUDA_SUCCESS : active->invalidate(error);
}

CUresult detail::check_capture_valid(const stream& target_stream) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const capture* const active = target_stream.capture();
  return active == nullptr || active->valid() ? CUDA_SUCCESS
                                              : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

// An invalidated capture has the effects of the functions below until it ends.

CUresult detail::check_unsafe_call() {
  const CUstreamCaptureMode thread_mode = this_thread().capture_mode;
  const std::lock_guard lock{this_process().graphs_mutex};
  const bool is_prohibited = capture_list::instance().apply(
      capture_effect::invalidate,
      [&](const capture& c) { return capture_list::prohibits_unsafe_calls(c, thread_mode); });
  return is_prohibited ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult detail::check_context_not_capturing(const context& owner_context) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const auto is_owned = [&](const stream& s) { return &s.owner() == &owner_context; };
  const bool is_capturing = capture_list::instance().apply(
      capture_effect::invalidate,
      [&](const capture& c) { return capture_list::has_stream(c, is_owned); });
  return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult detail::check_legacy_stream_usable(const context& owner_context,
                                            capture_effect effect) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  const auto blocks = [&](const stream& s) {
    return &s.owner() == &owner_context && s.role() == stream_role::blocking;
  };
  const bool is_capturing = capture_list::instance().apply(
      effect, [&](const capture& c) { return capture_list::has_stream(c, blocks); });
  return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

}  // namespace weir::embedded::model
