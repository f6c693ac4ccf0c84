// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/peer_access.cpp - the contexts of a copy between devices, and the copy's
// order among their work.
#include "embedded/entry/context/peer_access.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

CUresult check_one(CUcontext peer) {
  if (peer == nullptr) return CUDA_SUCCESS;
  const model::context* found = model::this_process().contexts.find(peer);
  return found == nullptr ? CUDA_ERROR_INVALID_CONTEXT : found->status();
}

// Calls visit(legacy stream) for each context of the copy other than the stream's own.
template <class Visit>
void for_each_other(const model::stream& target_stream, const model::copy_users& users,
                    Visit&& visit) {
  if (target_stream.capture() != nullptr) return;
  const model::context* const own_context = &target_stream.owner();
  if (users.to.user_context != nullptr && users.to.user_context != own_context)
    visit(users.to.user_context->legacy());
  if (users.from.user_context != nullptr && users.from.user_context != own_context &&
      users.from.user_context != users.to.user_context)
    visit(users.from.user_context->legacy());
}

}  // namespace

CUresult check(const copy_contexts& between) {
  const CUresult status = check_one(between.to);
  return status != CUDA_SUCCESS ? status : check_one(between.from);
}

model::copy_users resolve_copy_users(const model::process& p, const model::stream& target_stream,
                                     const copy_contexts* between) {
  const model::memory_user all = copy_user_for(p, target_stream);
  if (between == nullptr) return {all, all};
  const auto named = [&](CUcontext context) -> model::memory_user {
    model::context* const found = context != nullptr ? p.contexts.find(context) : nullptr;
    return {found != nullptr ? found : all.user_context, true};
  };
  return {named(between->to), named(between->from)};
}

void wait_for_peer_streams(model::stream& target_stream, const model::copy_users& users) {
  for_each_other(target_stream, users,
                 [&](model::stream& other) { target_stream.wait(other.record()); });
}

void make_peer_streams_wait(model::stream& target_stream, const model::copy_users& users) {
  for_each_other(target_stream, users,
                 [&](model::stream& other) { other.wait(target_stream.record()); });
}

}  // namespace weir::embedded::entry
