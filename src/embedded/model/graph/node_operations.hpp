// SPDX-License-Identifier: Apache-2.0
// model/graph/node_operations.hpp - the work of graph nodes, as operations of a plan.
#pragma once

#include <span>

#include "embedded/engine/operation.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/graph/node_work.hpp"

namespace weir::embedded::model {

class launch_plan;

// Appends a node's work to the operations of a plan; nothing for kinds that the plan handles
// itself. Throws std::bad_alloc.
void append_operations(const node_params& params, launch_plan& plan);

// Returns true if a node with these operations may get the new parameters; few changes are allowed.
// `scratch` is an empty plan, and is empty again afterwards. Throws std::bad_alloc.
[[nodiscard]] bool may_become(std::span<const engine::operation> current, node_operands operands,
                              const node_params& params, launch_plan& scratch);

// Replaces a node's operations, after may_become() returned true for the parameters. Throws
// std::bad_alloc without changing anything.
void replace_operations(launch_plan& plan, std::span<engine::operation> current,
                        const node_params& params, launch_plan& scratch);

// Returns the kernel that an operation runs, or null.
[[nodiscard]] const kernel_work* kernel_of(const engine::operation& operation) noexcept;

// Returns true if a memset's parameters and its operation `memset_operation` refer to different
// memory.
[[nodiscard]] bool targets_other_memory(const engine::operation& memset_operation,
                                        const memset_params& params) noexcept;

// Returns true if all words that a plan waits for or writes may be used by a launch.
[[nodiscard]] bool allows_value_memory(const launch_plan& plan) noexcept;

// Makes an operation that was copied with its plan refer to the copied plan.
void rebind_to_plan(launch_plan& plan, engine::operation& copied) noexcept;

// Returns an operation that does nothing, for a disabled node.
[[nodiscard]] engine::operation make_no_op() noexcept;

}  // namespace weir::embedded::model
