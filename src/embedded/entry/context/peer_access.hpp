// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/peer_access.hpp - copies that name a context for each side.
#pragma once

#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

// The contexts as the program passed them. Null stands for the current context.
struct copy_contexts {
  abi::CUcontext dst, src;
};

// Returns CUDA_SUCCESS if both are usable contexts.
abi::CUresult check_contexts(const copy_contexts& contexts);

// Returns the contexts whose devices access the two sides of a copy: the named contexts, else
// copy_user_for(). Every device can access memory that a context owns, whichever context is named.
model::copy_users resolve_copy_users(const model::process& p, const model::stream& target_stream,
                                     const copy_contexts* contexts);
inline model::copy_users users_of_copy(const model::process& p, const model::stream& target_stream,
                                       const copy_contexts* contexts = nullptr) {
  if (!p.has_several_devices()) [[likely]]
    return {};
  return resolve_copy_users(p, target_stream, contexts);
}

// Orders a synchronous copy between contexts: after all work of both contexts' blocking streams,
// and before their later work. Call the first before the copy is submitted and the second
// afterwards.
void wait_for_peer_streams(model::stream& target_stream, const model::copy_users& users);
void make_peer_streams_wait(model::stream& target_stream, const model::copy_users& users);

}  // namespace weir::embedded::entry
