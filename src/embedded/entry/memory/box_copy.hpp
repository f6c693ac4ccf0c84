// entry/box_copy.hpp - what all calls do that copy boxes, or bytes to and from arrays.
#pragma once

#include "embedded/entry/guard.hpp"
#include "embedded/entry/context/peers.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

// Checks a copy, finds its stream with find(process, stream) and calls submit(stream, users, to, from, work). Null is no
// copy; an empty box is copied from anywhere to anywhere.
template <class FindStream, class Submit>
abi::CUresult submit_box(const model::box_copy* copy, const peers* between, FindStream&& find, Submit&& submit) {
  return guarded_outside_host_functions([&](model::process& p) -> abi::CUresult {
    if (copy == nullptr) return abi::CUDA_ERROR_INVALID_VALUE;
    model::stream* in = nullptr;
    if (const abi::CUresult status = find(p, in); status != abi::CUDA_SUCCESS) return status;
    if (copy->size.empty()) return abi::CUDA_SUCCESS;
    model::place to;
    model::place from;
    model::pitched_copy_work work;
    const model::copy_users by = users_of_copy(p, *in, between);
    const abi::CUresult status = model::lay_out(*copy, to, from, work, use_time_in(*in), by);
    return status == abi::CUDA_SUCCESS ? submit(*in, by, to, from, work) : status;
  });
}

// For a call that is synchronous.
inline abi::CUresult copy_box_now(const model::box_copy* copy, const peers* between = nullptr) {
  return submit_box(copy, between, find_null_stream,
                    [](model::stream& in, const model::copy_users& by, const model::place& to, const model::place& from,
                       const model::pitched_copy_work& work) {
                      wait_for_peers(in, by);
                      const abi::CUresult status = model::copy_now(in, to, from, work);
                      let_peers_wait(in, by);
                      return status;
                    });
}

// In the order of a stream.
inline abi::CUresult copy_box_in_order(const model::box_copy* copy, abi::CUstream stream,
                                       const peers* between = nullptr) {
  return submit_box(
      copy, between, [&](model::process& p, model::stream*& in) { return find_stream(p, stream, in); },
      [](model::stream& in, const model::copy_users&, const model::place& to, const model::place& from,
         const model::pitched_copy_work& work) { return model::copy_in_order(in, to, from, work); });
}

}  // namespace weir::embedded::entry
