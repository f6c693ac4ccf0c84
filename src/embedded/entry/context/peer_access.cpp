// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/peer_access.cpp - the contexts of a copy between devices, and the copy's
// order among their work.
#include "embedded/entry/context/peer_access.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

// Calls visit(legacy stream) for each context of the copy other than the context of target_stream.
// Does nothing in a capture.
template <class Visit>
void for_each_peer_stream(const model::stream& target_stream, const model::copy_users& users,
                          Visit&& visit) {
  if (target_stream.capture() != nullptr) return;
  const model::context* const own_context = &target_stream.owner();
  if (users.dst.user_context != nullptr && users.dst.user_context != own_context)
    visit(users.dst.user_context->legacy());
  if (users.src.user_context != nullptr && users.src.user_context != own_context &&
      users.src.user_context != users.dst.user_context)
    visit(users.src.user_context->legacy());
}

}  // namespace

CUresult check_contexts(const copy_contexts& contexts) {
  for (const CUcontext handle : {contexts.dst, contexts.src}) {
    if (handle == nullptr) continue;
    const model::context* const found = model::this_process().contexts.find(handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult error = found->status()) return error;
  }
  return CUDA_SUCCESS;
}

model::copy_users resolve_copy_users(const model::stream& target_stream,
                                     const copy_contexts* contexts) {
  const model::memory_user default_user = copy_user_for(target_stream);
  if (contexts == nullptr) return {default_user, default_user};
  const auto user_of = [&](CUcontext context) -> model::memory_user {
    model::context* const found =
        context != nullptr ? model::this_process().contexts.find(context) : nullptr;
    return {found != nullptr ? found : default_user.user_context, true};
  };
  return {user_of(contexts->dst), user_of(contexts->src)};
}

void wait_for_peer_streams(model::stream& target_stream, const model::copy_users& users) {
  for_each_peer_stream(target_stream, users, [&](model::stream& peer_stream) {
    target_stream.wait(peer_stream.record());
  });
}

void make_peer_streams_wait(model::stream& target_stream, const model::copy_users& users) {
  for_each_peer_stream(target_stream, users, [&](model::stream& peer_stream) {
    peer_stream.wait(target_stream.record());
  });
}

}  // namespace weir::embedded::entry
