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

// The work of an operation that runs a pitched copy of a plan.
struct indexed_copy {
  const pitched_copy_work* desc;
  std::size_t number;  // its index in launch_plan::pitched_copies

  void run() const noexcept { desc->run(); }
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

template <class Work>
bool does(const engine::operation& operation) noexcept {
  return operation.body == make_operation(Work{}).body;
}

template <class Work>
Work work_of(const engine::operation& operation) noexcept {
  return engine::operation{operation}.as<Work>();
}

const plan_conditional& node_of(const engine::operation& conditional) noexcept {
  const auto work = work_of<conditional_work>(conditional);
  return work.plan->conditionals[work.number];
}

// Returns the word that the operation waits for or writes, or null.
const void* word_of(const engine::operation& operation) noexcept {
  if (does<value_wait>(operation)) return work_of<value_wait>(operation).word;
  return does<value_write>(operation) ? work_of<value_write>(operation).word : nullptr;
}

bool is_linear(const pitched_copy_work& copy) noexcept {
  return copy.depth == 1 && copy.height == 1;
}

}  // namespace

// The parameters were checked when they were set.
void append_operations(const node_params& params, launch_plan& to) {
  if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(&params)) {
    to.operations.push_back(
        make_operation(host_work{host->fn, host->userData}, operation_kind::host));
  } else if (const auto* set = std::get_if<memset_params>(&params)) {
    const CUDA_MEMSET_NODE_PARAMS& p = set->desc;
    const memset_work work{
        reinterpret_cast<std::byte*>(p.dst), p.pitch, p.width, p.height, p.value, p.elementSize};
    to.operations.push_back(make_operation(work, kind_of(p.width * p.height * p.elementSize)));
  } else if (const auto* copy = std::get_if<copy_params>(&params)) {
    pitched_copy_work work;
    if (to_work(copy->desc, work) != CUDA_SUCCESS) {
      to.operations.push_back(make_no_op());  // the memory was freed since
    } else if (is_linear(work)) {
      to.operations.push_back(
          make_operation(copy_work{work.to, work.from, work.width}, kind_of(work.width)));
    } else {
      const std::size_t bytes = work.width * work.height * work.depth;
      to.pitched_copies.push_back(std::make_unique<pitched_copy_work>(work));
      to.operations.push_back(
          make_operation(indexed_copy{to.pitched_copies.back().get(), to.pitched_copies.size() - 1},
                         kind_of(bytes)));
    }
  } else if (const auto* values = std::get_if<value_params>(&params)) {
    for (const CUstreamBatchMemOpParams& operation : values->operations) {
      to.uses_words = true;
      value_work work;
      const bool has_address =
          make_work(operation, work, {value_address_check::node, {}}) == CUDA_SUCCESS;
      if (const auto* wait = std::get_if<value_wait>(&work); has_address && wait != nullptr) {
        to.operations.push_back(make_operation(*wait, operation_kind::wait_value));
      } else if (const auto* write = std::get_if<value_write>(&work);
                 has_address && write != nullptr) {
        to.operations.push_back(make_operation(*write));
      } else {
        to.operations.push_back(make_no_op());  // a barrier, or the memory was freed since
      }
    }
  } else if (const auto* kernel = std::get_if<kernel_params>(&params)) {
    to.kernels.push_back(kernel->desc);
    to.operations.push_back(make_operation(
        indexed_kernel{kernel->desc.get(), to.kernels.size() - 1}, operation_kind::long_work));
  } else if (const auto* conditional = std::get_if<conditional_params>(&params)) {
    const conditional_work work{&to, static_cast<std::uint32_t>(to.conditionals.size())};
    to.conditionals.push_back(make_plan_conditional(*conditional));
    to.operations.push_back(make_operation(work, operation_kind::long_work));
  }
}

namespace {

// The operations of new parameters, in the scratch plan, valid during the lifetime of this object.
class wanted_operations {
 public:
  wanted_operations(const node_params& params, launch_plan& scratch) : scratch_{scratch} {
    append_operations(params, scratch);
  }
  ~wanted_operations() {
    scratch_.operations.clear();
    scratch_.pitched_copies.clear();
    scratch_.kernels.clear();
    scratch_.conditionals.clear();
  }
  wanted_operations(const wanted_operations&) = delete;
  wanted_operations& operator=(const wanted_operations&) = delete;

  [[nodiscard]] std::span<const engine::operation> all() const noexcept {
    return scratch_.operations;
  }

 private:
  launch_plan& scratch_;
};

}  // namespace

bool may_become(std::span<const engine::operation> now, node_operands operands,
                const node_params& params, launch_plan& scratch) {
  const wanted_operations requested{params, scratch};
  if (now.size() != requested.all().size()) return false;
  const node_operands after_sides = operands_of(params);
  const bool is_fixed = operands.fixed || after_sides.fixed;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const engine::operation& before = now[i];
    const engine::operation& after = requested.all()[i];
    if (before.body != after.body) return false;
    if (does<memset_work>(before)) {
      const auto a = work_of<memset_work>(before);
      const auto b = work_of<memset_work>(after);
      const bool same_rows =
          a.width == b.width && a.pitch == b.pitch && a.element_size == b.element_size;
      if (a.height != b.height || (a.height > 1 && !same_rows)) return false;
    } else if (does<indexed_copy>(before)) {
      if (*work_of<indexed_copy>(before).desc != *work_of<indexed_copy>(after).desc) return false;
    } else if (does<copy_work>(before)) {
      if (is_fixed && work_of<copy_work>(before) != work_of<copy_work>(after)) return false;
    } else if (does<value_wait>(before)) {
      if (work_of<value_wait>(before).size != work_of<value_wait>(after).size) return false;
    } else if (does<value_write>(before)) {
      if (work_of<value_write>(before).size != work_of<value_write>(after).size) return false;
    } else if (does<indexed_kernel>(before)) {
      if (work_of<indexed_kernel>(before).desc->owner() !=
          work_of<indexed_kernel>(after).desc->owner())
        return false;
    } else if (does<conditional_work>(before)) {
      const plan_conditional& a = node_of(before);
      const plan_conditional& b = node_of(after);
      if (a.type != b.type || a.bodies.size() != b.bodies.size()) return false;
    }
  }
  return operands.may_become(after_sides);
}

void replace_operations(launch_plan& in, std::span<engine::operation> now,
                        const node_params& params, launch_plan& scratch) {
  // Data that an operation refers to is changed in place, and may_become() has checked that the
  // rest fits. Nothing here allocates, because other nodes may have been changed already.
  // can only be replaced by an equal copy
  if (now.size() == 1 && does<indexed_copy>(now.front())) return;
  if (const auto* const kernel = std::get_if<kernel_params>(&params);
      kernel != nullptr && now.size() == 1) {
    auto& work = now.front().as<indexed_kernel>();
    work.desc = kernel->desc.get();
    in.kernels[work.number] = kernel->desc;
    return;
  }
  if (now.size() == 1 && does<conditional_work>(now.front())) {
    const auto* const conditional = std::get_if<conditional_params>(&params);
    plan_conditional& node = in.conditionals[now.front().as<conditional_work>().number];
    // The nodes of bodies are changed separately.
    if (conditional != nullptr) set_condition(node, conditional->condition);
    return;
  }
  const wanted_operations requested{params, scratch};
  std::ranges::copy(requested.all(), now.begin());
}

const kernel_work* kernel_of(const engine::operation& operation) noexcept {
  return does<indexed_kernel>(operation) ? work_of<indexed_kernel>(operation).desc : nullptr;
}

bool targets_other_memory(const engine::operation& set, const memset_params& than) noexcept {
  return work_of<memset_work>(set).to != reinterpret_cast<std::byte*>(than.desc.dst);
}

bool allows_value_memory(const launch_plan& in) noexcept {
  return std::ranges::none_of(in.operations, [](const engine::operation& candidate) {
    const void* const word = word_of(candidate);
    const allocation* const at =
        word == nullptr ? nullptr : address_map::find(reinterpret_cast<std::uintptr_t>(word));
    return at != nullptr && !supports_value_operations(*at);
  });
}

void rebind_to_plan(launch_plan& plan, engine::operation& copied) noexcept {
  if (does<indexed_copy>(copied)) {
    auto& refers = copied.as<indexed_copy>();
    refers.desc = plan.pitched_copies[refers.number].get();
  } else if (does<conditional_work>(copied)) {
    copied.as<conditional_work>().plan = &plan;
  }
}

engine::operation make_no_op() noexcept { return make_operation(nothing{}); }

}  // namespace weir::embedded::model
