// entry/peer_access.hpp - copies that name a context for each side.
#pragma once

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

// The contexts, as the program names them; null stands for the current one.
struct copy_contexts {
  abi::CUcontext to, from;
};

// Are they contexts?
abi::CUresult check(const copy_contexts& between);

// Who has to reach the two sides of a copy: the devices of the contexts that are named, or whoever
// copies in the stream. What contexts own is reached by all, whichever context is named.
model::copy_users resolve_copy_users(const model::process& p, const model::stream& in,
                                     const copy_contexts* between);
inline model::copy_users users_of_copy(const model::process& p, const model::stream& in,
                                       const copy_contexts* between = nullptr) {
  if (!p.has_several_devices()) [[likely]]
    return {};
  return resolve_copy_users(p, in, between);
}

// A copy between contexts that is not in the order of a stream comes behind what the blocking
// streams of both have, and before what they are given next: to be called before it is submitted,
// and after.
void wait_for_peer_streams(model::stream& in, const model::copy_users& by);
void make_peer_streams_wait(model::stream& in, const model::copy_users& by);

}  // namespace weir::embedded::entry
