// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/value_operation.cpp - cuStreamWaitValue*, cuStreamWriteValue*,
// cuStreamBatchMemOp: memory operations in stream order.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/stream/value_batch.hpp"

#include <utility>
#include <vector>

namespace weir::embedded::entry {

namespace {

// Returns how to check the word in memory that an operation in this stream waits for or writes. If
// the stream captures, only the alignment of the word is checked.
model::value_access use_in(const model::process& p, const model::stream& s) {
  return {s.capture() == nullptr ? model::value_address_check::call
                                 : model::value_address_check::alignment,
          memory_user_for(p, s)};
}

template <class Work, class Make>
CUresult submit_one(CUstream stream, Make make) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    model::process& p = model::this_process();
    Work work;
    if (const CUresult error = make(work, use_in(p, found))) return error;
    return found.submit(work);
  }));
}

CUresult wait_for(CUstream stream, CUdeviceptr address, std::uint64_t value, std::uint32_t size,
                  unsigned flags) {
  return submit_one<model::value_wait>(
      stream, [&](model::value_wait& w, const model::value_access& use) {
        return model::make_wait(address, value, size, flags, w, use);
      });
}

CUresult write(CUstream stream, CUdeviceptr address, std::uint64_t value, std::uint32_t size,
               unsigned flags) {
  return submit_one<model::value_write>(
      stream, [&](model::value_write& w, const model::value_access& use) {
        return model::make_write(address, value, size, flags, w, use);
      });
}

}  // namespace

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                unsigned flags) {
  return wait_for(stream, address, value, 4, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                unsigned flags) {
  return wait_for(stream, address, value, 8, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                 unsigned flags) {
  return write(stream, address, value, 4, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                 unsigned flags) {
  return write(stream, address, value, 8, flags);
}

// Checks the whole batch before it submits any operation.
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams* ops,
                               unsigned flags) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    model::process& p = model::this_process();
    if (flags != 0 || count > model::max_batch_operations || (count != 0 && ops == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::value_work> works(count);
    for (unsigned i = 0; i < count; ++i) {
      if (const CUresult error = model::make_work(ops[i], works[i], use_in(p, found))) return error;
    }
    if (class model::capture* capture = found.capture())
      return capture->add_batch(found, {ops, count});
    model::submit_value_batch(found, std::move(works));
    return CUDA_SUCCESS;
  }));
}

}  // namespace weir::embedded::entry
