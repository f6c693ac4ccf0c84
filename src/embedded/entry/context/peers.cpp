// entry/peers.cpp - which contexts a copy is between, and what its order is to them.
#include "embedded/entry/context/peers.hpp"

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
  const model::context* const mine = &in.owner();
  if (by.to.who != nullptr && by.to.who != mine) visit(by.to.who->legacy());
  if (by.from.who != nullptr && by.from.who != mine && by.from.who != by.to.who) visit(by.from.who->legacy());
}

}  // namespace

CUresult check(const peers& between) {
  const CUresult status = check_one(between.to);
  return status != CUDA_SUCCESS ? status : check_one(between.from);
}

model::copy_users users_among_several(const model::process& p, const model::stream& in, const peers* between) {
  const model::memory_user all = copier_in(p, in);
  if (between == nullptr) return {all, all};
  const auto named = [&](CUcontext context) -> model::memory_user {
    model::context* const found = context != nullptr ? p.contexts.find(context) : nullptr;
    return {found != nullptr ? found : all.who, true};
  };
  return {named(between->to), named(between->from)};
}

void wait_for_peers(model::stream& in, const model::copy_users& by) {
  for_each_other(in, by, [&](model::stream& other) { in.wait(other.record()); });
}

void let_peers_wait(model::stream& in, const model::copy_users& by) {
  for_each_other(in, by, [&](model::stream& other) { other.wait(in.record()); });
}

}  // namespace weir::embedded::entry
