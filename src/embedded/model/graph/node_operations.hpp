// SPDX-License-Identifier: Apache-2.0
// model/graph/node_operations.hpp - converts the work of graph nodes to operations of a launch
// plan.
#pragma once

#include <span>

#include "embedded/engine/operation.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/graph/node_work.hpp"

namespace weir::embedded::model {

class launch_plan;

// Appends a node's work to the operations of a plan. Appends nothing for kinds of nodes that have
// no operation: empty nodes, child graphs, event records and waits, allocations and frees. Throws
// std::bad_alloc.
void append_operations(const node_params& params, launch_plan& plan);

// Returns true if a node of an executable with the operations `current` and the properties
// `operands` may get the parameters `params`. Overwrites the operations of `scratch`, a plan for
// temporary use. Throws std::bad_alloc.
[[nodiscard]] bool may_become(std::span<const engine::operation> current, node_operands operands,
                              const node_params& params, launch_plan& scratch);

// Replaces a node's operations. may_become() has returned true for the parameters, with `scratch`.
// Does not allocate.
void replace_operations(launch_plan& plan, std::span<engine::operation> current,
                        const node_params& params, launch_plan& scratch);

// Returns the kernel that an operation runs, or null.
[[nodiscard]] const kernel_work* kernel_of(const engine::operation& operation) noexcept;

// Returns true if the memset operation `memset_operation` writes to another address than the one in
// `params`.
[[nodiscard]] bool targets_other_memory(const engine::operation& memset_operation,
                                        const memset_params& params) noexcept;

// Returns true if value operations may use the memory of all words that the plan waits for or
// writes. If it returns false, a launch returns an error. Memory that was freed after the plan was
// made counts as allowed.
[[nodiscard]] bool allows_value_memory(const launch_plan& plan) noexcept;

// Returns true if all memory that the memsets, copies and value operations of the plan need is
// allocated. They need the memory that was not pageable, of a pool or of a graph when the operation
// was made. Disabled nodes need none.
[[nodiscard]] bool has_memory(const launch_plan& plan) noexcept;

// Makes an operation that was copied together with its plan refer to data of the copy `plan`. Only
// a conditional node changes. Kernels and pitched copies are shared by the plans.
void rebind_to_plan(launch_plan& plan, engine::operation& copied) noexcept;

// Returns an operation that does nothing, for a disabled node.
[[nodiscard]] engine::operation make_no_op() noexcept;

}  // namespace weir::embedded::model
