// api/kernel_node.cpp - nodes that run kernels.
#include <weir/kernel_node.hpp>

#include "api/make_current.hpp"
#include "api/node_calls.hpp"
#include "api/node_memory.hpp"

namespace weir {

using detail::driver;

namespace {

// Around calls about kernels' nodes. The function tells which context is meant; an H200's driver (580.159) crashes all the
// same where none is current.
class any_context {
 public:
  explicit any_context(call_site at) : current_{detail::context_of_nodes(at), at} {}

 private:
  detail::make_current current_;
};

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
  detail::change_node(
      *this, node_kind::kernel, {}, "cuGraphKernelNodeSetAttribute",
      [&](abi::CUgraphNode node) {
        return driver().cuGraphKernelNodeSetAttribute(node, abi::CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value);
      },
      at);
}

void kernel_node::copy_attributes(kernel_node from, call_site at) const {
  constexpr const char* call = "cuGraphKernelNodeCopyAttributes";
  const abi::CUgraphNode source = detail::usable(from, call, at);
  const any_context current{at};
  detail::change_node(
      *this, node_kind::kernel, {}, call,
      [&](abi::CUgraphNode node) { return driver().cuGraphKernelNodeCopyAttributes(node, source); }, at);
}

CUgraphNode_st* kernel_parameters::add_to(CUgraph_st* to, dependency_list after, call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = raw(*this, extra_);
  const any_context current{at};
  return detail::add_node(to, after, params, {}, at);
}

void kernel_parameters::set_on(graph_node node, call_site at) const {
  const abi::CUDA_KERNEL_NODE_PARAMS params = raw(*this, extra_);
  const any_context current{at};
  detail::change_node(
      node, node_kind::kernel, {}, "cuGraphKernelNodeSetParams",
      [&](abi::CUgraphNode handle) { return driver().cuGraphKernelNodeSetParams_v2(handle, &params); }, at);
}

void kernel_parameters::set_in(CUgraphExec_st* exec, graph_node node, call_site at) const {
  const abi::CUDA_KERNEL_NODE_PARAMS params = raw(*this, extra_);
  const any_context current{at};
  detail::check_set_in(driver().cuGraphExecKernelNodeSetParams_v2(exec, node.get(), &params),
                       "cuGraphExecKernelNodeSetParams", exec, node, node_kind::kernel, at);
}

}  // namespace weir
