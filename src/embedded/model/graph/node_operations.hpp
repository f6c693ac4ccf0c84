// model/node_operations.hpp - what graph nodes do, as operations of a plan.
#pragma once

#include <span>

#include "embedded/engine/operation.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/graph/node_work.hpp"

namespace weir::embedded::model {

class launch_plan;

// Adds what a node does to the operations of a plan; nothing for kinds that the plan treats itself.
// Throws std::bad_alloc.
void append_operations(const node_params& params, launch_plan& to);

// May a node whose operations these are do that instead? What it does may change in a few ways
// only. The scratch is an empty plan, and is one again afterwards. Throws std::bad_alloc.
[[nodiscard]] bool may_become(std::span<const engine::operation> now, node_operands operands,
                              const node_params& params, launch_plan& scratch);

// Replaces a node's operations by as many others that they may become. Throws std::bad_alloc, and
// then nothing has changed.
void replace_operations(launch_plan& in, std::span<engine::operation> now,
                        const node_params& params, launch_plan& scratch);

// The kernel that an operation runs; null where it runs none.
[[nodiscard]] const kernel_work* kernel_of(const engine::operation& operation) noexcept;

// Is the memory of a set another than that of the operation of one?
[[nodiscard]] bool targets_other_memory(const engine::operation& set,
                                        const memset_params& than) noexcept;

// Do all words that a plan waits for or writes lie where a launch may use them?
[[nodiscard]] bool allows_value_memory(const launch_plan& in) noexcept;

// Lets an operation that was copied with its plan refer to the copy.
void rebind_to_plan(launch_plan& plan, engine::operation& copied) noexcept;

// An operation that does nothing, in place of a node that is switched off.
[[nodiscard]] engine::operation make_no_op() noexcept;

}  // namespace weir::embedded::model
