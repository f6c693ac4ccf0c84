// SPDX-License-Identifier: Apache-2.0
// model/graph/node_operations.cpp - converts node parameters to operations, and checks changes.
#include "embedded/model/graph/node_operations.hpp"

#include <algorithm>
#include <cstdint>

#include "embedded/model/graph/conditional.hpp"
#include "embedded/model/graph/launch_plan.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/stream/box_copy.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::kind_of;
using engine::make_operation;
using engine::operation_kind;

namespace {

// The work of an operation that runs a pitched copy.
struct stored_copy {
  const pitched_copy_work* desc;  // an element of launch_plan::pitched_copies

  [[nodiscard]] bool run() const noexcept { return desc->run(); }
};

// The work of an operation that runs a kernel of a plan.
struct indexed_kernel {
  const kernel_work* desc;
  std::size_t number;  // its index in launch_plan::kernels

  [[nodiscard]] bool run() const noexcept { return desc->run(); }
};

struct nothing {
  void run() const noexcept {}
};

// Returns true if the operation runs a `Work`. make_operation() gives each type of work a `body`
// function of its own.
template <class Work>
bool runs(const engine::operation& operation) noexcept {
  return operation.body == make_operation(Work{}).body;
}

template <class Work>
Work work_of(const engine::operation& operation) noexcept {
  return engine::operation{operation}.as<Work>();
}

const plan_conditional& node_of(const engine::operation& operation) noexcept {
  const auto work = work_of<conditional_work>(operation);
  return work.plan->conditionals[work.number];
}

// Returns the word that the operation waits for or writes, or null.
const void* word_of(const engine::operation& operation) noexcept {
  if (runs<value_wait>(operation)) return work_of<value_wait>(operation).word;
  return runs<value_write>(operation) ? work_of<value_write>(operation).word : nullptr;
}

bool is_linear(const pitched_copy_work& copy) noexcept {
  return copy.depth == 1 && copy.height == 1;
}

// Returns true if launches need the memory at an address to stay allocated. The memory of pools and
// graphs stays accessible after a free, and pageable memory is unknown to the driver.
bool is_needed(const void* address) noexcept {
  const allocation* const record = address_map::find(reinterpret_cast<std::uintptr_t>(address));
  return record != nullptr && record->kind != memory_kind::pooled &&
         record->kind != memory_kind::graph;
}

void append_memset(const memset_params& memset, launch_plan& plan) {
  memset_work work;
  if (to_work(memset.desc, work) != CUDA_SUCCESS) {
    plan.operations.push_back(make_no_op());  // the memory was freed since
    return;
  }
  work.needs_dst = is_needed(work.dst);
  plan.operations.push_back(
      make_operation(work, kind_of(work.width * work.height * work.element_size)));
}

void append_copy(const copy_params& copy, launch_plan& plan) {
  pitched_copy_work work;
  if (to_work(copy.desc, work) != CUDA_SUCCESS) {
    plan.operations.push_back(make_no_op());  // the memory was freed since
    return;
  }
  work.needs_dst = is_needed(work.dst);
  work.needs_src = is_needed(work.src);
  if (is_linear(work)) {
    const copy_work linear{.dst = work.dst,
                           .src = work.src,
                           .bytes = work.width,
                           .needs_dst = work.needs_dst,
                           .needs_src = work.needs_src};
    plan.operations.push_back(make_operation(linear, kind_of(work.width)));
  } else {
    plan.pitched_copies.push_back(std::make_shared<const pitched_copy_work>(work));
    const stored_copy stored{plan.pitched_copies.back().get()};
    plan.operations.push_back(make_operation(stored, kind_of(work.bytes())));
  }
}

void append_value_operation(const CUstreamBatchMemOpParams& params, launch_plan& plan) {
  plan.uses_words = true;
  value_work work;
  if (make_work(params, work, {value_address_check::node, {}}) != CUDA_SUCCESS)
    work = std::monostate{};  // the memory was freed since
  if (auto* const wait = std::get_if<value_wait>(&work)) {
    wait->needs_word = is_needed(wait->word);
    plan.operations.push_back(make_operation(*wait, operation_kind::wait_value));
  } else if (auto* const write = std::get_if<value_write>(&work)) {
    write->needs_word = is_needed(write->word);
    plan.operations.push_back(make_operation(*write));
  } else {
    plan.operations.push_back(make_no_op());
  }
}

}  // namespace

// The parameters need no check, because the entry points check them when the program sets them. The
// memory may have been freed after that check. An operation on freed memory becomes a no-op.
void append_operations(const node_params& params, launch_plan& plan) {
  if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(&params)) {
    plan.operations.push_back(
        make_operation(host_work{host->fn, host->userData}, operation_kind::host));
  } else if (const auto* memset = std::get_if<memset_params>(&params)) {
    append_memset(*memset, plan);
  } else if (const auto* copy = std::get_if<copy_params>(&params)) {
    append_copy(*copy, plan);
  } else if (const auto* values = std::get_if<value_params>(&params)) {
    for (const CUstreamBatchMemOpParams& value_operation : values->operations)
      append_value_operation(value_operation, plan);
  } else if (const auto* kernel = std::get_if<kernel_params>(&params)) {
    plan.kernels.push_back(kernel->desc);
    const indexed_kernel indexed{kernel->desc.get(), plan.kernels.size() - 1};
    plan.operations.push_back(make_operation(indexed, operation_kind::long_work));
  } else if (const auto* conditional = std::get_if<conditional_params>(&params)) {
    const conditional_work work{&plan, static_cast<std::uint32_t>(plan.conditionals.size())};
    plan.conditionals.push_back(make_plan_conditional(*conditional));
    plan.operations.push_back(make_operation(work, operation_kind::long_work));
  }
}

namespace {

// Returns the operations for a node's parameters, which replace those in `scratch`.
std::span<const engine::operation> operations_for(const node_params& params, launch_plan& scratch) {
  scratch.operations.clear();
  scratch.pitched_copies.clear();
  scratch.kernels.clear();
  scratch.conditionals.clear();
  append_operations(params, scratch);
  return scratch.operations;
}

// Returns true if `new_operation` may replace `old_operation` of a node. The caller has checked
// that their `body` members are equal, so both run one type of work. As on an H200, a memset keeps
// its number of rows, and with several rows also their layout. A pitched copy keeps everything. A
// value operation keeps its size, a kernel its context, and a conditional node its type and its
// number of bodies.
bool may_replace(const engine::operation& old_operation,
                 const engine::operation& new_operation) noexcept {
  if (runs<memset_work>(old_operation)) {
    const auto old_work = work_of<memset_work>(old_operation);
    const auto new_work = work_of<memset_work>(new_operation);
    return old_work.height == new_work.height &&
           (old_work.height == 1 ||
            (old_work.width == new_work.width && old_work.pitch == new_work.pitch &&
             old_work.element_size == new_work.element_size));
  }
  if (runs<stored_copy>(old_operation))
    return *work_of<stored_copy>(old_operation).desc == *work_of<stored_copy>(new_operation).desc;
  if (runs<value_wait>(old_operation))
    return work_of<value_wait>(old_operation).size == work_of<value_wait>(new_operation).size;
  if (runs<value_write>(old_operation))
    return work_of<value_write>(old_operation).size == work_of<value_write>(new_operation).size;
  if (runs<indexed_kernel>(old_operation))
    return kernel_of(old_operation)->owner() == kernel_of(new_operation)->owner();
  if (runs<conditional_work>(old_operation)) {
    const plan_conditional& old_node = node_of(old_operation);
    const plan_conditional& new_node = node_of(new_operation);
    return old_node.type == new_node.type && old_node.bodies.size() == new_node.bodies.size();
  }
  return true;
}

// Returns true for two linear copies that differ. may_replace() rejects pitched copies that differ.
bool is_other_copy(const engine::operation& old_operation,
                   const engine::operation& new_operation) noexcept {
  return runs<copy_work>(old_operation) &&
         work_of<copy_work>(old_operation) != work_of<copy_work>(new_operation);
}

}  // namespace

bool may_become(std::span<const engine::operation> current, node_operands operands,
                const node_params& params, launch_plan& scratch) {
  const std::span<const engine::operation> requested = operations_for(params, scratch);
  if (current.size() != requested.size()) return false;
  const node_operands new_operands = operands_of(params);
  const bool is_fixed = operands.fixed || new_operands.fixed;
  for (std::size_t i = 0; i < current.size(); ++i) {
    if (current[i].body != requested[i].body || !may_replace(current[i], requested[i]))
      return false;
    if (is_fixed && is_other_copy(current[i], requested[i])) return false;
  }
  return operands.may_become(new_operands);
}

void replace_operations(launch_plan& plan, std::span<engine::operation> current,
                        const node_params& params, launch_plan& scratch) {
  // The operations of pitched copies, kernels and conditional nodes refer to data in the plan,
  // which changes instead. may_become() accepts only an equal pitched copy, so nothing changes for
  // it.
  if (current.size() == 1 && runs<stored_copy>(current.front())) return;
  if (const auto* const kernel = std::get_if<kernel_params>(&params)) {
    auto& work = current.front().as<indexed_kernel>();
    work.desc = kernel->desc.get();
    plan.kernels[work.number] = kernel->desc;
    return;
  }
  if (current.size() == 1 && runs<conditional_work>(current.front())) {
    const auto* const conditional = std::get_if<conditional_params>(&params);
    plan_conditional& node = plan.conditionals[current.front().as<conditional_work>().number];
    // Only the condition changes here. The nodes of the bodies are nodes of the executable and are
    // changed by calls of their own.
    if (conditional != nullptr) set_condition(node, conditional->condition);
    return;
  }
  // Does not allocate, because may_become() has made `scratch` large enough. A failure here would
  // leave other nodes changed.
  std::ranges::copy(operations_for(params, scratch), current.begin());
}

const kernel_work* kernel_of(const engine::operation& operation) noexcept {
  return runs<indexed_kernel>(operation) ? work_of<indexed_kernel>(operation).desc : nullptr;
}

bool targets_other_memory(const engine::operation& memset_operation,
                          const memset_params& params) noexcept {
  return work_of<memset_work>(memset_operation).dst !=
         reinterpret_cast<std::byte*>(params.desc.dst);
}

bool allows_value_memory(const launch_plan& plan) noexcept {
  return std::ranges::none_of(plan.operations, [](const engine::operation& candidate) {
    const void* const word = word_of(candidate);
    const allocation* const record =
        word == nullptr ? nullptr : address_map::find(reinterpret_cast<std::uintptr_t>(word));
    return record != nullptr && !supports_value_operations(*record);
  });
}

namespace {

// Returns true if an operation that needs the memory at an address has it.
bool has_needed(bool needed, const void* address) noexcept {
  return !needed || address_map::find(reinterpret_cast<std::uintptr_t>(address)) != nullptr;
}

template <class Copy>
bool has_memory_of(const Copy& copy) noexcept {
  return has_needed(copy.needs_dst, copy.dst) && has_needed(copy.needs_src, copy.src);
}

bool has_memory_of(const engine::operation& operation) noexcept {
  if (runs<memset_work>(operation)) {
    const auto work = work_of<memset_work>(operation);
    return has_needed(work.needs_dst, work.dst);
  }
  if (runs<copy_work>(operation)) return has_memory_of(work_of<copy_work>(operation));
  if (runs<stored_copy>(operation)) return has_memory_of(*work_of<stored_copy>(operation).desc);
  if (runs<value_wait>(operation)) {
    const auto work = work_of<value_wait>(operation);
    return has_needed(work.needs_word, work.word);
  }
  if (!runs<value_write>(operation)) return true;
  const auto work = work_of<value_write>(operation);
  return has_needed(work.needs_word, work.word);
}

}  // namespace

bool has_memory(const launch_plan& plan) noexcept {
  return std::ranges::all_of(
      plan.operations, [](const engine::operation& candidate) { return has_memory_of(candidate); });
}

void rebind_to_plan(launch_plan& plan, engine::operation& copied) noexcept {
  if (runs<conditional_work>(copied)) copied.as<conditional_work>().plan = &plan;
}

engine::operation make_no_op() noexcept { return make_operation(nothing{}); }

}  // namespace weir::embedded::model
