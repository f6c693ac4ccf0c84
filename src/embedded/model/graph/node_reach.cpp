// model/node_reach.cpp - contexts of nodes, and the memory that they reach.
#include "embedded/model/graph/node_reach.hpp"

#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/node_work.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded::model {

using namespace abi;

memory_user user_for(CUcontext context, bool copies) noexcept {
  const process& p = this_process();
  if (!p.has_several_devices()) return {};
  return {p.contexts.find(context), copies};
}

CUcontext context_for_set(CUdeviceptr memory, CUcontext given) noexcept {
  const process& p = this_process();
  if (!p.has_several_devices()) return given;
  const allocation* const in = address_map::find(memory);
  const context* const named = p.contexts.find(given);
  const bool owned = in != nullptr && in->kind == memory_kind::device;
  return owned && named != nullptr && in->on != &named->owner() ? in->owner->handle() : given;
}

// Memory that is gone is no reason.
const graph_node* find_set_out_of_reach(const graph& in) noexcept {
  for (const graph* part = in.first_part(); part != nullptr; part = part->next_part()) {
    if (const graph_node* const found = find_set_out_of_reach(*part)) return found;
  }
  for (const graph_node* node : in.nodes()) {
    const auto* const set = std::get_if<set_params>(&node->params);
    set_work unused;
    if (set != nullptr && to_work(set->what, unused) == CUDA_SUCCESS &&
        to_work(set->what, unused, user_for(set->in, false)) != CUDA_SUCCESS) {
      return node;
    }
  }
  return nullptr;
}

}  // namespace weir::embedded::model
