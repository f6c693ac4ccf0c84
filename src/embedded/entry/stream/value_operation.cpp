// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/value_operation.cpp - cuStreamWaitValue*, cuStreamWriteValue*,
// cuStreamBatchMemOp: memory operations in stream order.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

#include <utility>
#include <vector>

namespace weir::embedded::entry {

namespace {

// Returns how to check the word in memory that an operation in this stream waits for or writes. If
// the stream captures, only the alignment of the word is checked.
model::value_access value_access_of(const model::stream& s) {
  return {s.capture() == nullptr ? model::value_address_check::call
                                 : model::value_address_check::alignment,
          memory_user_for(s)};
}

// Makes an operation on a word of `size` bytes with `make`, which is model::make_wait or
// model::make_write, and submits it.
template <class Work>
CUresult submit_operation(CUresult (*make)(CUdeviceptr, std::uint64_t, std::uint32_t, unsigned,
                                           Work&, const model::value_access&),
                          CUstream stream, CUdeviceptr address, std::uint64_t value,
                          std::uint32_t size, unsigned flags) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    Work work;
    if (const CUresult error = make(address, value, size, flags, work, value_access_of(found)))
      return error;
    return found.submit(work);
  }));
}

}  // namespace

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                unsigned flags) {
  return submit_operation(model::make_wait, stream, address, value, 4, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                unsigned flags) {
  return submit_operation(model::make_wait, stream, address, value, 8, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                 unsigned flags) {
  return submit_operation(model::make_write, stream, address, value, 4, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                 unsigned flags) {
  return submit_operation(model::make_write, stream, address, value, 8, flags);
}

// Checks the whole batch before it submits any operation.
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams* ops,
                               unsigned flags) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    if (flags != 0 || count > model::max_batch_operations || (count != 0 && ops == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::value_work> works(count);
    for (unsigned i = 0; i < count; ++i) {
      if (const CUresult error = model::make_work(ops[i], works[i], value_access_of(found)))
        return error;
    }
    if (class model::capture* capture = found.capture())
      return capture->add_batch(found, {ops, count});
    found.submit_all(works);
    return CUDA_SUCCESS;
  }));
}

}  // namespace weir::embedded::entry
