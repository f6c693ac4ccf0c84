// SPDX-License-Identifier: Apache-2.0
// api/stream/direct_call.cpp - the most frequent driver calls, made as tail calls without a stack
// frame.
#include <weir/detail/direct_call.hpp>

#include "api/stream/direct_driver.hpp"
#include "api/stream/thread_event.hpp"

namespace weir::detail {

direct_status query(CUevent event) {
  const driver_table* const driver = direct_driver_for_query();
  if (driver == nullptr || !is_open(event)) [[unlikely]] {
    return direct_status::not_called;
  }
  return static_cast<direct_status>(driver->cuEventQuery(event));
}

direct_status query(CUstream stream) {
  const driver_table* const driver = direct_driver_for_query();
  if (driver == nullptr || !is_open(stream)) [[unlikely]] {
    return direct_status::not_called;
  }
  return static_cast<direct_status>(driver->cuStreamQuery(stream));
}

direct_status record(CUevent event, CUstream stream) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(event) || !is_open(stream)) [[unlikely]] {
    return direct_status::not_called;
  }
  return static_cast<direct_status>(driver->cuEventRecord(event, stream));
}

direct_status wait_for(CUstream stream, CUevent event) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(stream) || !is_open(event)) [[unlikely]] {
    return direct_status::not_called;
  }
  return static_cast<direct_status>(
      driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
}

direct_status wait_for(CUstream stream, CUstream awaited) {
  const driver_table* const driver = direct_driver_outside_captures();
  const CUevent event = thread_events.find(awaited);
  if (driver == nullptr || !is_open(stream) || event == nullptr || stream == awaited) [[unlikely]] {
    return direct_status::not_called;
  }
  if (const CUresult answer = driver->cuEventRecord(event, awaited); answer != CUDA_SUCCESS)
      [[unlikely]] {
    return encode_record_failure(answer);
  }
  return static_cast<direct_status>(
      driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
}

}  // namespace weir::detail
