// api/stream/direct_call.cpp - the calls that are made most, without a frame.
#include <weir/detail/direct_call.hpp>

#include "api/stream/directly.hpp"
#include "api/stream/kept_event.hpp"

namespace weir::detail {

errc query(CUevent mark) {
  const driver_table* const driver = directly_without_captures();
  if (driver == nullptr || !is_open(mark)) [[unlikely]] {
    return not_asked;
  }
  return static_cast<errc>(driver->cuEventQuery(mark));
}

errc query(CUstream stream) {
  const driver_table* const driver = directly_without_captures();
  if (driver == nullptr || !is_open(stream)) [[unlikely]] {
    return not_asked;
  }
  return static_cast<errc>(driver->cuStreamQuery(stream));
}

errc record(CUevent mark, CUstream stream) {
  const driver_table* const driver = directly_without_captures();
  if (driver == nullptr || !is_open(mark) || !is_open(stream)) [[unlikely]] {
    return not_asked;
  }
  return static_cast<errc>(driver->cuEventRecord(mark, stream));
}

errc wait_for(CUstream stream, CUevent mark) {
  const driver_table* const driver = directly_without_captures();
  if (driver == nullptr || !is_open(stream) || !is_open(mark)) [[unlikely]] {
    return not_asked;
  }
  return static_cast<errc>(driver->cuStreamWaitEvent(stream, mark, CU_EVENT_WAIT_DEFAULT));
}

errc wait_for(CUstream stream, CUstream awaited) {
  const driver_table* const driver = directly_without_captures();
  const CUevent mark = kept_events.find(awaited);
  if (driver == nullptr || !is_open(stream) || mark == nullptr || stream == awaited) [[unlikely]] {
    return not_asked;
  }
  if (const CUresult answer = driver->cuEventRecord(mark, awaited); answer != CUDA_SUCCESS) [[unlikely]] {
    return failed_record(answer);
  }
  return static_cast<errc>(driver->cuStreamWaitEvent(stream, mark, CU_EVENT_WAIT_DEFAULT));
}

}  // namespace weir::detail
