// api/graph/nodes/kernel_node.cpp - nodes that run kernels.
#include <weir/graph/nodes/kernel_node.hpp>

#include "api/core/first_failure.hpp"
#include "api/kernel/kernel_state.hpp"
#include "api/kernel/launch_attributes.hpp"
#include "api/kernel/launch_failure.hpp"
#include "api/device/make_current.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_memory.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace weir {

using detail::driver;

namespace detail {
namespace {

// Arguments of a node, and what it keeps for them.
struct argument_copies final : shared_owner {
  argument_copies() {
    run = [](chore& self) noexcept {
      delete static_cast<argument_copies*>(&self);
      return chore_result::done;
    };
  }
  std::vector<std::max_align_t> memory;
  std::vector<void*> values;
  std::vector<owner_share> owners;
};

}  // namespace

owner_share copied_arguments(const launched_kernel& what, const argument_list& arguments) {
  constexpr const char* call = "cuGraphAddNode";
  const call_site at = what.at();
  check_arguments(what.what(), arguments.size, arguments.shapes, call, at);
  auto copies = std::make_unique<argument_copies>();
  // Each where the widest type could lie.
  constexpr std::size_t unit = sizeof(std::max_align_t);
  std::size_t units = 0;
  for (std::size_t i = 0; i < arguments.size; ++i) units += (arguments.shapes[i].size + unit - 1) / unit;
  copies->memory.resize(units);
  copies->values.reserve(arguments.size + 1);
  copies->owners.reserve(arguments.size + 1);
  units = 0;
  for (std::size_t i = 0; i < arguments.size; ++i) {
    const tracked_memory* const owner = arguments.memory[i].owner;
    if (owner != nullptr && owner->closed()) fail_closed(call, subject::memory(nullptr), at);
    void* const place = copies->memory.data() + units;
    std::memcpy(place, arguments.values[i], arguments.shapes[i].size);
    copies->values.push_back(place);
    units += (arguments.shapes[i].size + unit - 1) / unit;
  }
  copies->values.push_back(nullptr);
  copies->owners.push_back(what.what().owner());
  for (std::size_t i = 0; i < arguments.size; ++i) {
    copies->owners.push_back(arguments.keep[i](arguments.arguments[i]));
  }
  return owner_share{*copies.release()};
}

void** values_in(const owner_share& copied) noexcept {
  return static_cast<argument_copies*>(copied.get())->values.data();
}

}  // namespace detail

namespace {

// Around calls about kernels' nodes. The function tells which context is meant; an H200's driver (580.159) crashes all the
// same where none is current.
class any_context {
 public:
  explicit any_context(call_site at) : current_{detail::context_of_nodes(at), at} {}

 private:
  detail::make_current current_;
};

// What no node has.
void refuse(const launch_config& config, call_site at) {
  detail::refuse_half_a_cluster(config, "cuGraphAddNode", nullptr, at);
  if (!config.programmatic) return;
  detail::fail(errc::not_supported, "cuGraphAddNode", "a kernel node",
               "a programmatic launch of a node is an edge with data: graph_ref::add_dependency(from, to, data)", at);
}

// Changes what a node has beside its parameters: what the graph keeps for those stays.
template <class Set>
void change_attributes(kernel_node node, const char* call, const Set& set, call_site at) {
  const abi::CUgraphNode handle = detail::usable(node, call, at);
  if (const abi::CUresult answer = set(handle); answer != abi::CUDA_SUCCESS) {
    detail::fail_setting(answer, call, node, node_kind::kernel, at);
  }
}

// What a launch has beyond the node's parameters. Nothing of a plain one.
void set_attributes(CUgraphNode_st* node, const launch_config& config, call_site at) {
  for (const abi::CUlaunchAttribute& attribute : detail::launch_attributes{config}) {
    detail::check(driver().cuGraphKernelNodeSetAttribute(node, attribute.id, &attribute.value),
                  "cuGraphKernelNodeSetAttribute", {}, at);
  }
}

abi::CUDA_KERNEL_NODE_PARAMS raw(const kernel_parameters& what, void** extra) noexcept {
  abi::CUDA_KERNEL_NODE_PARAMS p{};
  p.func = what.function();
  p.gridDimX = what.grid().x;
  p.gridDimY = what.grid().y;
  p.gridDimZ = what.grid().z;
  p.blockDimX = what.block().x;
  p.blockDimY = what.block().y;
  p.blockDimZ = what.block().z;
  p.sharedMemBytes = what.shared_bytes();
  p.kernelParams = what.arguments();
  p.extra = extra;
  return p;
}

}  // namespace

kernel_parameters kernel_node::parameters(call_site at) const {
  const any_context current{at};
  const auto p = detail::params_of<abi::CUDA_KERNEL_NODE_PARAMS>(
      *this, "cuGraphKernelNodeGetParams",
      [](abi::CUgraphNode node, auto* params) { return driver().cuGraphKernelNodeGetParams_v2(node, params); }, at);
  kernel_parameters what{p.func,
                         {p.gridDimX, p.gridDimY, p.gridDimZ},
                         {p.blockDimX, p.blockDimY, p.blockDimZ},
                         p.kernelParams,
                         p.sharedMemBytes};
  what.extra_ = p.extra;
  return what;
}

void kernel_node::set(const kernel_parameters& what, call_site at) const { what.set_on(*this, at); }

int kernel_node::priority(call_site at) const {
  const any_context current{at};
  const auto value = detail::params_of<abi::CUkernelNodeAttrValue>(
      *this, "cuGraphKernelNodeGetAttribute",
      [](abi::CUgraphNode node, auto* v) {
        return driver().cuGraphKernelNodeGetAttribute(node, abi::CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, v);
      },
      at);
  return value.priority;
}

void kernel_node::set_priority(int priority, call_site at) const {
  const any_context current{at};
  abi::CUkernelNodeAttrValue value{};
  value.priority = priority;
  change_attributes(
      *this, "cuGraphKernelNodeSetAttribute",
      [&](abi::CUgraphNode node) {
        return driver().cuGraphKernelNodeSetAttribute(node, abi::CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value);
      },
      at);
}

void kernel_node::copy_attributes(kernel_node from, call_site at) const {
  constexpr const char* call = "cuGraphKernelNodeCopyAttributes";
  const abi::CUgraphNode source = detail::usable(from, call, at);
  const any_context current{at};
  change_attributes(
      *this, call, [&](abi::CUgraphNode node) { return driver().cuGraphKernelNodeCopyAttributes(node, source); }, at);
}

detail::owner_list kernel_parameters::owners() const noexcept {
  if (!copied_) return {};
  const auto& owners = static_cast<const detail::argument_copies*>(copied_.get())->owners;
  return {owners.data(), owners.size()};
}

CUgraphNode_st* kernel_parameters::add_to(CUgraph_st* to, dependency_list after, call_site at) const {
  refuse(config_, at);
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = raw(*this, extra_);
  const any_context current{at};
  CUgraphNode_st* const added = detail::add_node(to, after, params, owners(), at);
  if (config_.is_plain()) return added;
  try {
    set_attributes(added, config_, at);
  } catch (...) {
    detail::report_what_fails(detail::subject::graph(to), "cuGraphDestroyNode", [&] {
      graph_ref{to}.remove(graph_node{added, to}, at);
    });
    throw;
  }
  return added;
}

void kernel_parameters::set_on(graph_node node, call_site at) const {
  refuse(config_, at);
  const abi::CUDA_KERNEL_NODE_PARAMS params = raw(*this, extra_);
  const any_context current{at};
  detail::change_node(
      node, node_kind::kernel, owners(), "cuGraphKernelNodeSetParams",
      [&](abi::CUgraphNode handle) { return driver().cuGraphKernelNodeSetParams_v2(handle, &params); }, at);
  set_attributes(node.get(), config_, at);
}

void kernel_parameters::set_in(CUgraphExec_st* exec, graph_node node, call_site at) const {
  refuse(config_, at);
  const abi::CUDA_KERNEL_NODE_PARAMS params = raw(*this, extra_);
  const any_context current{at};
  detail::check_set_in(driver().cuGraphExecKernelNodeSetParams_v2(exec, node.get(), &params),
                       "cuGraphExecKernelNodeSetParams", exec, node, node_kind::kernel, at);
}

}  // namespace weir
