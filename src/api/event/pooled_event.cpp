// SPDX-License-Identifier: Apache-2.0
// api/event/pooled_event.cpp - an event of the event pool, which its last user returns.
#include "api/event/pooled_event.hpp"

#include "api/core/check.hpp"
#include "api/stream/stream_state.hpp"
#include "driver/event_pool.hpp"
#include "os/forked_child.hpp"

namespace weir::detail {

pooled_event::pooled_event(CUcontext context, call_site at)
    : context_id_{context_id_of(context, at)} {
  const driver_result acquired = event_pool::instance().acquire(context, context_id_, event_);
  if (acquired.code != errc::success)
    throw_driver_error(acquired.code, acquired.call, subject{context}, at);
}

pooled_event::~pooled_event() {
  if (!os::in_forked_child()) event_pool::instance().release(context_id_, {&event_, 1});
}

work_mark mark_work(CUstream stream, CUcontext context, CUresult& result, call_site at) {
  auto event = std::make_shared<const pooled_event>(context, at);
  result = driver().cuEventRecord(event->get(), stream);
  return result == CUDA_SUCCESS ? std::move(event) : nullptr;
}

}  // namespace weir::detail
