// SPDX-License-Identifier: Apache-2.0
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
#include <vector>

namespace weir {

class kernel_parameters;

/// A node that runs a kernel in each launch. <<<>>> and launch() become such nodes in a capture.
class WEIR_EXPORT kernel_node : public detail::settable_node<node_kind::kernel, kernel_parameters> {
 public:
  using settable_node::settable_node;

  /// Returns what the node does. The pointers in arguments() belong to the driver, and are valid
  /// until the node is changed or removed.
  ///
  /// Driver: cuGraphKernelNodeGetParams.
  [[nodiscard]] kernel_parameters parameters(call_site at = call_site::current()) const;

  /// Returns the priority of the kernel among kernels that are ready, like a stream's priority.
  ///
  /// Driver: cuGraphKernelNodeGetAttribute.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  /// Sets the priority of the kernel. Only executables instantiated with
  /// instantiate_options::node_priorities use it.
  ///
  /// Driver: cuGraphKernelNodeSetAttribute.
  void set_priority(int priority, call_site at = call_site::current()) const;
  /// Copies all attributes from another kernel node.
  ///
  /// Driver: cuGraphKernelNodeCopyAttributes.
  void copy_attributes(kernel_node original, call_site at = call_site::current()) const;
};

namespace detail {

/// Checks the arguments and copies them, with the owners they hold, to the heap. The returned
/// reference keeps the copy.
[[nodiscard]] WEIR_EXPORT keep_alive_ref copied_arguments(const launched_kernel& launched,
                                                          const argument_list& arguments);
/// Returns the arguments that copied_arguments() has copied, as the array of pointers that the
/// driver takes.
[[nodiscard]] WEIR_EXPORT void** values_in(const keep_alive_ref& copied) noexcept;

template <class... Arguments>
[[nodiscard]] keep_alive_ref copy_arguments(const launched_kernel& launched,
                                            const Arguments&... arguments) {
  void* values[] = {arguments.value()..., nullptr};
  const argument_owners<Arguments...> owned_arguments{arguments...};
  return copied_arguments(launched, owned_arguments.list(values));
}

}  // namespace detail

/// Describes a launch of a kernel. Accepts and checks what launch() does:
///
///   g.add(weir::kernel_parameters{{.grid = {64}, .block = {256}}, saxpy, 2.0f, weir::in(x),
///                                 weir::inout(y), n});
///
/// Copies values. Moves temporary buffers and shared pointers into this object; the graph then owns
/// them and the kernel's module. The caller owns all other memory, unless graph_ref::keep() gives
/// it to the graph.
/// Adding or setting also sets the attributes of the node that the configuration contains: cluster,
/// cooperation and priority. A node whose parameters are set keeps its other attributes. An
/// executable keeps the attributes that its nodes had at instantiation.
///
/// Throws: as launch(); `not_supported` for a programmatic launch, which a graph expresses as an
/// edge with data.
class WEIR_EXPORT kernel_parameters {
 public:
  using node_type = kernel_node;

  /// Describes a launch with a configuration.
  template <class... Arguments>
  kernel_parameters(const launch_config& config, detail::launched_kernel launched,
                    Arguments&&... arguments)
      : function_{launched.target().get()},
        config_{config},
        copied_{detail::copy_arguments(
            launched, detail::argument_from(std::forward<Arguments>(arguments), launched.at())...)},
        arguments_{detail::values_in(copied_)} {}
  /// Describes a launch with one thread per element. `elements` comes from grid().
  template <std::same_as<element_count> Elements, class... Arguments>
  kernel_parameters(Elements elements, detail::launched_kernel launched, Arguments&&... arguments)
      : kernel_parameters{launched.target().config_for(elements, launched.at()), launched,
                          std::forward<Arguments>(arguments)...} {}

  /// Describes a launch of a function whose module the caller loaded and keeps, as for
  /// cuLaunchKernel. Each entry of `arguments` points to one argument. The driver copies the
  /// arguments when the node is added or set; keep them until then. They are not checked.
  kernel_parameters(CUfunc_st* function, kernel_extent grid, kernel_extent block, void** arguments,
                    unsigned shared_bytes = 0) noexcept
      : function_{function},
        config_{.grid = grid, .block = block, .shared_bytes = shared_bytes},
        arguments_{arguments} {}

  /// Returns the function of the driver.
  [[nodiscard]] CUfunc_st* function() const noexcept { return function_; }
  /// Returns the number of blocks.
  [[nodiscard]] kernel_extent grid() const noexcept { return config_.grid; }
  /// Returns the number of threads per block.
  [[nodiscard]] kernel_extent block() const noexcept { return config_.block; }
  /// Returns the dynamic shared memory per block, in bytes.
  [[nodiscard]] unsigned shared_bytes() const noexcept { return config_.shared_bytes; }
  /// Returns the arguments in the driver's form.
  [[nodiscard]] void** arguments() const noexcept { return arguments_; }
  /// Returns the configuration of the launch.
  [[nodiscard]] const launch_config& config() const noexcept { return config_; }

 private:
  friend class kernel_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept;
  [[nodiscard]] std::vector<detail::region> memory() const;

  CUfunc_st* function_;
  launch_config config_;
  detail::keep_alive_ref copied_;  ///< copy of the arguments; empty if they belong to the caller
  void** arguments_;               ///< one pointer for each argument
  /// The arguments as one block (CUDA_KERNEL_NODE_PARAMS::extra) of a node that the driver
  /// described in this way; else null.
  void** extra_ = nullptr;
};

}  // namespace weir
