// entry/open_event.hpp - giving a new event its handle, or nothing.
#pragma once

#include "driver/abi.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::entry {

// Opens a free event by `open(event)` and gives it a handle; what that answers, or throws, is the
// answer.
template <class Open>
abi::CUresult open_event(model::process& p, abi::CUevent* out, Open&& open) {
  model::event* made = p.events.acquire();
  abi::CUresult status;
  try {
    status = open(*made);
  } catch (...) {
    p.events.recycle(made);
    throw;
  }
  if (status != abi::CUDA_SUCCESS) {
    p.events.recycle(made);
    return status;
  }
  *out = static_cast<abi::CUevent>(p.events.publish(made));
  return abi::CUDA_SUCCESS;
}

}  // namespace weir::embedded::entry
