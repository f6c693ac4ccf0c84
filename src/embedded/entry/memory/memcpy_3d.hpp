// entry/memcpy_3d.hpp - what all calls do that copy boxes, or bytes to and from arrays.
#pragma once

#include "embedded/entry/context/peer_access.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

// Checks a copy, finds its stream with find(process, stream) and calls submit(stream, users, to,
// from, work). Null is no copy; an empty box is copied from anywhere to anywhere.
template <class FindStream, class Submit>
abi::CUresult submit_box(const model::box_copy* copy, const copy_contexts* between,
                         FindStream&& find, Submit&& submit) {
  return guarded_outside_host_functions([&](model::process& p) -> abi::CUresult {
    if (copy == nullptr) return abi::CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const abi::CUresult status = find(p, in); status != abi::CUDA_SUCCESS) return status;
    if (copy->size.empty()) return abi::CUDA_SUCCESS;
    model::memory_operand to;
    model::memory_operand from;
    model::pitched_copy_work work;
    const model::copy_users by = users_of_copy(p, *in, between);
    const abi::CUresult status = model::resolve_box(*copy, to, from, work, access_time_of(*in), by);
    return status == abi::CUDA_SUCCESS ? submit(*in, by, to, from, work) : status;
  });
}

// For a call that is synchronous.
inline abi::CUresult copy_box_sync(const model::box_copy* copy,
                                   const copy_contexts* between = nullptr) {
  return submit_box(
      copy, between, find_null_stream,
      [](model::stream& in, const model::copy_users& by, const model::memory_operand& to,
         const model::memory_operand& from, const model::pitched_copy_work& work) {
        wait_for_peer_streams(in, by);
        const abi::CUresult status = model::copy_sync(in, to, from, work);
        make_peer_streams_wait(in, by);
        return status;
      });
}

// In the order of a stream.
inline abi::CUresult copy_box_async(const model::box_copy* copy, abi::CUstream stream,
                                    const copy_contexts* between = nullptr) {
  return submit_box(
      copy, between,
      [&](model::process& p, model::stream*& in) { return find_stream(p, stream, in); },
      [](model::stream& in, const model::copy_users&, const model::memory_operand& to,
         const model::memory_operand& from,
         const model::pitched_copy_work& work) { return model::copy_async(in, to, from, work); });
}

}  // namespace weir::embedded::entry
