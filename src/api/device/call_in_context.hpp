// api/device/call_in_context.hpp - calls that end something in its context, whatever is current
// where that happens.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

template <class Call>
void call_in_context(CUcontext context, first_failure& failure, Call call) noexcept {
  try {
    const make_current current{context, call_site{}};
    call();
  } catch (...) {
    failure.note_exception("cuCtxPushCurrent");
  }
}

}  // namespace weir::detail
