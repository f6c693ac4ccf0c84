// SPDX-License-Identifier: Apache-2.0
// sequences/actions.hpp - the actions of a sequence: one call, or a few that belong together.
#pragma once

#include "sequences/chosen_arguments.hpp"

#include <span>

namespace weir::sequences {

struct action {
  unsigned weight;
  void (*act)(world&);
};

// The actions of each family of the driver API; each is defined in the file of its name.
std::span<const action> stream_actions();
std::span<const action> stream_work_actions();
std::span<const action> stream_attribute_actions();
std::span<const action> event_actions();
std::span<const action> memory_actions();
std::span<const action> host_memory_actions();
std::span<const action> managed_actions();
std::span<const action> pointer_actions();
std::span<const action> pool_actions();
std::span<const action> copy_actions();
std::span<const action> pitched_copy_actions();
std::span<const action> set_actions();
std::span<const action> value_actions();
std::span<const action> context_actions();
std::span<const action> device_actions();
std::span<const action> capture_actions();
std::span<const action> graph_actions();
std::span<const action> gate_actions();
// Actions only for wild sequences, and the clean-up at their end.
std::span<const action> wild_actions();
std::span<const action> wild_memory_actions();
std::span<const action> wild_node_actions();
void end_wild_memory(world& w);
void end_wild_nodes(world& w);

}  // namespace weir::sequences
