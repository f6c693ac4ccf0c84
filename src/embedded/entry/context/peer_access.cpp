// entry/peer_access.cpp - which contexts a copy is between, and what its order is to them.
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

// Calls visit(legacy stream) for each context of a copy that is not the stream's.
template <class Visit>
void for_each_other(const model::stream& in, const model::copy_users& by, Visit&& visit) {
  if (in.capture() != nullptr) return;
  const model::context* const own_context = &in.owner();
  if (by.to.user_context != nullptr && by.to.user_context != own_context)
    visit(by.to.user_context->legacy());
  if (by.from.user_context != nullptr && by.from.user_context != own_context &&
      by.from.user_context != by.to.user_context)
    visit(by.from.user_context->legacy());
}

}  // namespace

CUresult check(const copy_contexts& between) {
  const CUresult status = check_one(between.to);
  return status != CUDA_SUCCESS ? status : check_one(between.from);
}

model::copy_users resolve_copy_users(const model::process& p, const model::stream& in,
                                     const copy_contexts* between) {
  const model::memory_user all = copy_user_for(p, in);
  if (between == nullptr) return {all, all};
  const auto named = [&](CUcontext context) -> model::memory_user {
    model::context* const found = context != nullptr ? p.contexts.find(context) : nullptr;
    return {found != nullptr ? found : all.user_context, true};
  };
  return {named(between->to), named(between->from)};
}

void wait_for_peer_streams(model::stream& in, const model::copy_users& by) {
  for_each_other(in, by, [&](model::stream& other) { in.wait(other.record()); });
}

void make_peer_streams_wait(model::stream& in, const model::copy_users& by) {
  for_each_other(in, by, [&](model::stream& other) { other.wait(in.record()); });
}

}  // namespace weir::embedded::entry
