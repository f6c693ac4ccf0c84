// weir/kernel_node.hpp - nodes that run kernels. GPUs only, so far.
#pragma once

#include <weir/call_site.hpp>
#include <weir/export.hpp>
#include <weir/graph.hpp>
#include <weir/graph_node.hpp>
#include <weir/handle.hpp>

namespace weir {

class kernel_parameters;

// A node that runs a kernel at each launch: what <<<>>> becomes in a capture.
class WEIR_EXPORT kernel_node : public detail::typed_node<node_kind::kernel> {
 public:
  using typed_node::typed_node;

  // The arguments are the driver's own, to be looked at until the node is changed or gone. cuGraphKernelNodeGetParams.
  [[nodiscard]] kernel_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there. cuGraphKernelNodeSetParams.
  void set(const kernel_parameters& what, call_site at = call_site::current()) const;

  // Where it stands among the kernels that are ready, as a stream's priority; executables respect it that were made with
  // instantiate_options::node_priorities. cuGraphKernelNodeGetAttribute, cuGraphKernelNodeSetAttribute.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  void set_priority(int priority, call_site at = call_site::current()) const;
  // Every attribute of another kernel node. cuGraphKernelNodeCopyAttributes.
  void copy_attributes(kernel_node from, call_site at = call_site::current()) const;
};

// How many blocks, or threads of a block, in each direction.
struct kernel_extent {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  friend constexpr bool operator==(const kernel_extent&, const kernel_extent&) noexcept = default;
};

// A launch of a function of a module that the caller loaded, and keeps, as cuLaunchKernel takes it. The arguments, of
// which each entry points to one, are copied when the node is added or set; what they point to is not, and is the
// caller's to keep, or the graph's: graph_ref::keep(). On an embedded device: refused (not_supported).
class WEIR_EXPORT kernel_parameters {
 public:
  using node_type = kernel_node;

  kernel_parameters(CUfunc_st* function, kernel_extent grid, kernel_extent block, void** arguments,
                    unsigned shared_bytes = 0) noexcept
      : function_{function}, grid_{grid}, block_{block}, shared_bytes_{shared_bytes}, arguments_{arguments} {}

  [[nodiscard]] CUfunc_st* function() const noexcept { return function_; }
  [[nodiscard]] kernel_extent grid() const noexcept { return grid_; }
  [[nodiscard]] kernel_extent block() const noexcept { return block_; }
  [[nodiscard]] unsigned shared_bytes() const noexcept { return shared_bytes_; }
  [[nodiscard]] void** arguments() const noexcept { return arguments_; }

 private:
  friend class kernel_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;

  CUfunc_st* function_;
  kernel_extent grid_;
  kernel_extent block_;
  unsigned shared_bytes_;
  void** arguments_;
  void** extra_ = nullptr;
};

}  // namespace weir
