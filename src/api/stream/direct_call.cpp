// api/stream/direct_call.cpp - the calls that are made most, without a frame.
#include <weir/detail/direct_call.hpp>

#include "api/stream/direct_driver.hpp"
#include "api/stream/thread_event.hpp"

namespace weir::detail {

errc query(CUevent event) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(event)) [[unlikely]] {
    return not_called;
  }
  return static_cast<errc>(driver->cuEventQuery(event));
}

errc query(CUstream stream) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(stream)) [[unlikely]] {
    return not_called;
  }
  return static_cast<errc>(driver->cuStreamQuery(stream));
}

errc record(CUevent event, CUstream stream) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(event) || !is_open(stream)) [[unlikely]] {
    return not_called;
  }
  return static_cast<errc>(driver->cuEventRecord(event, stream));
}

errc wait_for(CUstream stream, CUevent event) {
  const driver_table* const driver = direct_driver_outside_captures();
  if (driver == nullptr || !is_open(stream) || !is_open(event)) [[unlikely]] {
    return not_called;
  }
  return static_cast<errc>(driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
}

errc wait_for(CUstream stream, CUstream awaited) {
  const driver_table* const driver = direct_driver_outside_captures();
  const CUevent event = thread_events.find(awaited);
  if (driver == nullptr || !is_open(stream) || event == nullptr || stream == awaited) [[unlikely]] {
    return not_called;
  }
  if (const CUresult answer = driver->cuEventRecord(event, awaited); answer != CUDA_SUCCESS)
      [[unlikely]] {
    return encode_record_failure(answer);
  }
  return static_cast<errc>(driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
}

}  // namespace weir::detail
