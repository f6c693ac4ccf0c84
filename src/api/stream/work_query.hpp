// SPDX-License-Identifier: Apache-2.0
// api/stream/work_query.hpp - queries whether the work of a stream or an event is done.
#pragma once

#include "api/capture/capture_invalidation.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"

#include <weir/detail/direct_call.hpp>

namespace weir::detail {

// A function of the driver table that queries a stream or an event, and its name.
template <class Handle>
struct work_query {
  CUresult (*driver_table::*function)(Handle);
  const char* name;
};
inline constexpr work_query<CUstream> stream_query{&driver_table::cuStreamQuery, "cuStreamQuery"};
inline constexpr work_query<CUevent> event_query{&driver_table::cuEventQuery, "cuEventQuery"};

// Implements done_slow(). `object` is a stream_ref or an event_ref. `status` is the result of its
// direct query, neither success nor not_ready.
template <class Object, class Handle>
bool query_done(Object object, const work_query<Handle>& query, direct_status status,
                call_site at) {
  if (status != direct_status::not_called)
    throw_driver_error(to_errc(status), query.name, object, at);
  const Handle handle = require_open(object, query.name, at);
  const relaxed_capture_guard guard{object, query.name, at};
  const CUresult answer = (driver().*query.function)(handle);
  if (answer == CUDA_ERROR_NOT_READY) return false;
  check(answer, query.name, object, at);
  return true;
}

// Implements status_slow(), which throws nothing. The failure of a step before the query is
// returned like one of the query.
template <class Object, class Handle>
errc query_status(Object object, const work_query<Handle>& query) noexcept {
  if (const errc unusable = check_open(object.get()); unusable != errc::success) return unusable;
  const driver_table* const driver = try_driver();
  if (driver == nullptr) return errc::not_initialized;
  try {
    const relaxed_capture_guard guard{object, query.name, call_site{}};
    const errc answer = static_cast<errc>((driver->*query.function)(object.get()));
    if (answer != errc::success && any_capture_active())
      attribute_failure(answer, query.name, object, call_site{});
    return answer;
  } catch (...) {
    return current_error_code();
  }
}

}  // namespace weir::detail
