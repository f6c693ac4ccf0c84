// weir/graph/nodes/kernel_node.hpp - nodes that run kernels.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/kernel/kernel.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/launch_config.hpp>

#include <concepts>
#include <utility>

namespace weir {

class kernel_parameters;

// A node that runs a kernel at each launch: what <<<>>> becomes in a capture.
class WEIR_EXPORT kernel_node : public detail::typed_node<node_kind::kernel> {
 public:
  using typed_node::typed_node;

  // The arguments are the driver's own, to be looked at until the node is changed or gone.
  // cuGraphKernelNodeGetParams.
  [[nodiscard]] kernel_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there.
  // cuGraphKernelNodeSetParams.
  void set(const kernel_parameters& what, call_site at = call_site::current()) const;

  // Where it stands among the kernels that are ready, as a stream's priority; executables respect
  // it that were made with instantiate_options::node_priorities. cuGraphKernelNodeGetAttribute,
  // cuGraphKernelNodeSetAttribute.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  void set_priority(int priority, call_site at = call_site::current()) const;
  // Every attribute of another kernel node. cuGraphKernelNodeCopyAttributes.
  void copy_attributes(kernel_node from, call_site at = call_site::current()) const;
};

namespace detail {

// Checks the arguments and copies them to a place where they stay, together with what they own.
[[nodiscard]] WEIR_EXPORT keep_alive_ref copied_arguments(const launched_kernel& what,
                                                          const argument_list& arguments);
[[nodiscard]] WEIR_EXPORT void** values_in(const keep_alive_ref& copied) noexcept;

template <class... Arguments>
[[nodiscard]] keep_alive_ref copy_arguments(const launched_kernel& what,
                                            const Arguments&... arguments) {
  void* values[] = {arguments.value()..., nullptr};
  const argument_owners<Arguments...> all{arguments...};
  return copied_arguments(what, all.list(values));
}

}  // namespace detail

// A launch as a node: what launch() takes, checked as there.
//
//   g.add(weir::kernel_parameters{{.grid = {64}, .block = {256}}, saxpy, 2.0f, weir::in(x),
//   weir::inout(y), n});
//
// Values are copied here. The graph keeps the kernel's module, and the temporary buffers and shared
// pointers among the arguments, which are moved here; other memory is the caller's to keep, or the
// graph's: graph_ref::keep(). Cluster, cooperation and priority are set where the configuration has
// them (a node that is set keeps others), and an executable keeps those that it was made with; a
// programmatic launch is an edge with data, and refused: not_supported.
class WEIR_EXPORT kernel_parameters {
 public:
  using node_type = kernel_node;

  template <class... Arguments>
  kernel_parameters(const launch_config& config, detail::launched_kernel what,
                    Arguments&&... arguments)
      : function_{what.what().get()},
        config_{config},
        copied_{detail::copy_arguments(
            what, detail::argument_from(std::forward<Arguments>(arguments), what.at())...)},
        arguments_{detail::values_in(copied_)} {}
  template <std::same_as<element_count> Elements, class... Arguments>
  kernel_parameters(Elements elements, detail::launched_kernel what, Arguments&&... arguments)
      : kernel_parameters{what.what().config_for(elements, what.at()), what,
                          std::forward<Arguments>(arguments)...} {}

  // A launch of a function of a module that the caller loaded, and keeps, as cuLaunchKernel takes
  // it. The arguments, of which each entry points to one, are copied when the node is added or set,
  // unchecked.
  kernel_parameters(CUfunc_st* function, kernel_extent grid, kernel_extent block, void** arguments,
                    unsigned shared_bytes = 0) noexcept
      : function_{function},
        config_{.grid = grid, .block = block, .shared_bytes = shared_bytes},
        arguments_{arguments} {}

  [[nodiscard]] CUfunc_st* function() const noexcept { return function_; }
  [[nodiscard]] kernel_extent grid() const noexcept { return config_.grid; }
  [[nodiscard]] kernel_extent block() const noexcept { return config_.block; }
  [[nodiscard]] unsigned shared_bytes() const noexcept { return config_.shared_bytes; }
  [[nodiscard]] void** arguments() const noexcept { return arguments_; }
  [[nodiscard]] const launch_config& config() const noexcept { return config_; }

 private:
  friend class kernel_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept;

  CUfunc_st* function_;
  launch_config config_;
  detail::keep_alive_ref copied_;  // the arguments, if they are not the caller's
  void** arguments_;
  void** extra_ = nullptr;
};

}  // namespace weir
