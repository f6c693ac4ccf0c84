// entry/peers.hpp - copies that name a context for each side.
#pragma once

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

// The contexts, as the program names them; null stands for the current one.
struct peers {
  abi::CUcontext to, from;
};

// Are they contexts?
abi::CUresult check(const peers& between);

// Who has to reach the two sides of a copy: the devices of the contexts that are named, or whoever copies in the stream.
// What contexts own is reached by all, whichever context is named.
model::copy_users users_among_several(const model::process& p, const model::stream& in, const peers* between);
inline model::copy_users users_of_copy(const model::process& p, const model::stream& in,
                                       const peers* between = nullptr) {
  if (!p.has_several_devices()) [[likely]]
    return {};
  return users_among_several(p, in, between);
}

// A copy between contexts that is not in the order of a stream comes behind what the blocking streams of both have, and
// before what they are given next: to be called before it is submitted, and after.
void wait_for_peers(model::stream& in, const model::copy_users& by);
void let_peers_wait(model::stream& in, const model::copy_users& by);

}  // namespace weir::embedded::entry
