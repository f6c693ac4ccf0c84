// SPDX-License-Identifier: Apache-2.0
// model/graph/node_access.cpp - contexts of nodes, and the memory that they can access.
#include "embedded/model/graph/node_access.hpp"

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/node_work.hpp"
#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model {

using namespace abi;

memory_user memory_user_of_node(CUcontext context, bool copies) noexcept {
  const process& p = this_process();
  if (!p.has_several_devices()) return {};
  return {p.contexts.find(context), copies};
}

CUcontext context_for_memset(CUdeviceptr memory, CUcontext requested) noexcept {
  const process& p = this_process();
  if (!p.has_several_devices()) return requested;
  const allocation* const in = address_map::find(memory);
  const context* const named = p.contexts.find(requested);
  const bool owned = in != nullptr && in->kind == memory_kind::device;
  return owned && named != nullptr && in->memory_device != &named->owner() ? in->owner->handle()
                                                                           : requested;
}

// Nodes whose memory was freed do not count.
const graph_node* find_inaccessible_memset(const graph& in) noexcept {
  for (const graph* part = in.first_subgraph(); part != nullptr; part = part->next_subgraph()) {
    if (const graph_node* const found = find_inaccessible_memset(*part)) return found;
  }
  for (const graph_node* node : in.nodes()) {
    const auto* const set = std::get_if<memset_params>(&node->params);
    memset_work unused;
    if (set != nullptr && to_work(set->desc, unused) == CUDA_SUCCESS &&
        to_work(set->desc, unused, memory_user_of_node(set->in, false)) != CUDA_SUCCESS) {
      return node;
    }
  }
  return nullptr;
}

}  // namespace weir::embedded::model
