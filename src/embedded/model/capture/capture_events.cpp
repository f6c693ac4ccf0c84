// model/capture_events.cpp - how streams join captures by events, and leave them.
#include <algorithm>
#include <mutex>

#include "embedded/model/capture/capture_list.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

CUevent handle_of(const event& e) {
  return static_cast<CUevent>(this_process().events.handle_of(&e));
}

}  // namespace

// With CU_EVENT_WAIT_EXTERNAL a node that waits for the real event at each launch.
CUresult capture::wait(stream& s, const event& e, unsigned flags) {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_WAIT_EXTERNAL) return add_node(s, wait_params{handle_of(e)});
  if (e.shared()) {
    valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (e.capture_id() == 0) {
    if (!e.recorded()) return CUDA_SUCCESS;
    valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  capture* const other = capture_list::instance().find(e.capture_id());
  if (other == this) {
    join(s, recorded_[&e]);
    return CUDA_SUCCESS;
  }
  valid_ = false;
  if (other == nullptr || !other->valid_) return CUDA_ERROR_INVALID_VALUE;
  other->valid_ = false;
  return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

// A stream that does not capture waits for an event of this capture: it joins.
CUresult capture::join_by_event(stream& s, const event& e) {
  if (!valid_) return CUDA_ERROR_INVALID_VALUE;
  if (s.role() == stream_role::legacy) {
    valid_ = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  join(s, recorded_[&e]);
  return CUDA_SUCCESS;
}

// With CU_EVENT_RECORD_EXTERNAL a node that records the real event at each launch.
CUresult capture::record(event& e, stream& s, unsigned flags) {
  if (!valid_) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags == CU_EVENT_RECORD_EXTERNAL) return add_node(s, record_params{handle_of(e)});
  if (&e.owner() != &s.owner().base()) return CUDA_ERROR_INVALID_HANDLE;
  if (e.shared()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  recorded_[&e] = participant_of(s).frontier;
  e.set_capture_id(id_);
  return CUDA_SUCCESS;
}

CUresult detail::wait_in_capture(stream& s, event& e, unsigned flags) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (capture* c = s.capture()) return c->wait(s, e, flags);
    if (e.capture_id() != 0 && flags != 0) {
      const CUresult status = capture_list::instance().check_event_of(e.capture_id(), false);
      return status == CUDA_ERROR_INVALID_VALUE ? status : CUDA_ERROR_ILLEGAL_STATE;
    }
    if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
    if (e.capture_id() != 0) {
      capture* const of_event = capture_list::instance().find(e.capture_id());
      return of_event == nullptr ? CUDA_ERROR_INVALID_VALUE : of_event->join_by_event(s, e);
    }
  }
  s.wait(e.recorded_point());
  return CUDA_SUCCESS;
}

CUresult detail::record_in_capture(event& e, stream& s, unsigned flags) {
  {
    const std::lock_guard lock{this_process().graphs_mutex};
    if (capture* c = s.capture()) return c->record(e, s, flags);
    if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
  }
  return e.record(s);
}

CUresult detail::check_event_not_captured(const event& e, bool invalidates) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  return capture_list::instance().check_event_of(e.capture_id(), invalidates);
}

// The capture that began in the stream ends without a graph. What the stream has added to another's
// stays there, and must still be joined.
void capture::leave(stream& s) noexcept {
  s.set_capture(nullptr);
  if (participants_.front().in == &s) {
    tear_down(false);
  } else {
    participant_of(s).in = nullptr;
  }
}

void detail::leave_capture(stream& s) noexcept {
  const std::lock_guard lock{this_process().graphs_mutex};
  if (capture* c = s.capture()) c->leave(s);
}

}  // namespace weir::embedded::model
