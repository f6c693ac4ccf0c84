// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/host_function_node.hpp - nodes that run host code.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/stream/host_function.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {

class host_function_parameters;

/// A node that runs a host function in each launch. launch_host() becomes such a node in a capture.
class WEIR_EXPORT host_function_node
    : public detail::settable_node<node_kind::host_function, host_function_parameters> {
 public:
  using settable_node::settable_node;

  /// Returns what the node does.
  ///
  /// Driver: cuGraphHostNodeGetParams.
  [[nodiscard]] host_function_parameters parameters(call_site at = call_site::current()) const;
};

namespace detail {

/// A function object that a node calls; reference-counted. `invoke` calls it.
struct node_closure : keep_alive {
  void (*invoke)(node_closure& self) = nullptr;  ///< may throw what the function object throws
  void (*c_function)(void* data) = nullptr;      ///< the function of C code that it calls; or null
  void* c_data = nullptr;                        ///< the argument of `c_function`
};

/// Returns the function that the driver calls with a node_closure.
[[nodiscard]] WEIR_EXPORT void (*closure_runner() noexcept)(void*);

}  // namespace detail

/// Describes a node that runs a host function.
///
/// The rules of launch_host() apply: f() is called as an lvalue on a thread of the driver, and must
/// not call CUDA. Exceptions go to set_unhandled_error_handler.
/// Parameters, graphs and executables share one function object. It is destroyed after all of these
/// were destroyed and their launches have finished, on a thread where CUDA calls are allowed.
class WEIR_EXPORT host_function_parameters {
 public:
  using node_type = host_function_node;

  /// Copies or moves `f` into a function object.
  template <detail::repeatable F>
  requires(!std::same_as<std::remove_cvref_t<F>,
                         host_function_parameters>) explicit host_function_parameters(F&& f)
      : function_{detail::closure_runner()} {
    struct box final : detail::node_closure {
      explicit box(F&& source) : f(std::forward<F>(source)) {}
      std::decay_t<F> f;
    };
    auto* const closure = new box{std::forward<F>(f)};
    closure->invoke = [](detail::node_closure& self) {
      static_cast<void>(static_cast<box&>(self).f());
    };
    closure->run = [](detail::deferred_task& self) noexcept {
      delete static_cast<box*>(&self);
      return detail::task_result::done;
    };
    closure_ = detail::keep_alive_ref{*closure};
    data_ = static_cast<detail::node_closure*>(closure);
  }

  /// Calls f(data), for C code. The caller must keep what `data` points to until no launch uses it.
  /// The driver refuses a null `f` (`invalid_value`).
  host_function_parameters(void (*f)(void* data), void* data);

  /// Returns the function of C code, or else the function that the driver calls. The parameters of
  /// a node that was captured, or added directly through the driver, hold only function() and
  /// data(), and keep no function object alive.
  [[nodiscard]] void (*function() const noexcept)(void*) { return function_; }
  /// Returns the argument of function().
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  friend class host_function_node;
  friend struct detail::node_access;
  /// Creates the parameters of an existing node.
  host_function_parameters(void (*f)(void* data), void* data,
                           detail::keep_alive_ref closure) noexcept
      : function_{f}, data_{data}, closure_{std::move(closure)} {}
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return {&closure_, 1}; }

  void (*function_)(void*);
  void* data_ = nullptr;
  detail::keep_alive_ref closure_;  ///< the function object; empty for a function of C code
};

}  // namespace weir
