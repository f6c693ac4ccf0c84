// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/peer_access.hpp - copies that name a context for each side.
#pragma once

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

// The contexts of the destination and the source of a copy, as the program passed them. Null stands
// for the current context.
struct copy_contexts {
  abi::CUcontext dst, src;
};

// Returns CUDA_SUCCESS if both contexts exist and are usable.
abi::CUresult check_contexts(const copy_contexts& contexts);

// Returns the context whose device accesses each side of a copy. If `contexts` is not null, it
// names them; otherwise it is copy_user_for() for both sides. Memory that a context owns can be
// copied with any context.
model::copy_users resolve_copy_users(const model::stream& target_stream,
                                     const copy_contexts* contexts);
// Like resolve_copy_users(), but returns no contexts if the process has a single device. That
// device may access all memory, so no access is checked.
inline model::copy_users users_of_copy(const model::stream& target_stream,
                                       const copy_contexts* contexts = nullptr) {
  if (!model::this_process().has_several_devices()) [[likely]]
    return {};
  return resolve_copy_users(target_stream, contexts);
}

// Makes a synchronous copy between contexts wait for the earlier work of all blocking streams of
// the other contexts: for their legacy streams, which follow that work. `target_stream` itself
// orders the work of its own context. Called before the copy is submitted.
void wait_for_peer_streams(model::stream& target_stream, const model::copy_users& users);
// Makes later work of the blocking streams of both contexts wait for the copy. Called after the
// copy was submitted.
void make_peer_streams_wait(model::stream& target_stream, const model::copy_users& users);

}  // namespace weir::embedded::entry
