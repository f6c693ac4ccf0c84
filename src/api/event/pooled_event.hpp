// SPDX-License-Identifier: Apache-2.0
// api/event/pooled_event.hpp - an event of the event pool, which its last user returns.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <memory>

namespace weir::detail {

// An event without timing that was taken from the event pool of a context. The destructor returns
// it to the pool.
class pooled_event {
 public:
  pooled_event(abi::CUcontext context, call_site at);
  pooled_event(const pooled_event&) = delete;
  pooled_event& operator=(const pooled_event&) = delete;
  ~pooled_event();

  [[nodiscard]] abi::CUevent get() const noexcept { return event_; }

 private:
  unsigned long long context_id_;
  abi::CUevent event_ = nullptr;
};

// An event that was recorded behind some work. Several threads may wait for it.
using work_mark = std::shared_ptr<const pooled_event>;

// Records an event in `stream`, whose context is `context`. `result` is the driver's answer.
// Returns the event, or null if the driver refused the record.
[[nodiscard]] work_mark mark_work(abi::CUstream stream, abi::CUcontext context,
                                  abi::CUresult& result, call_site at);

}  // namespace weir::detail
