// weir/graph/nodes/host_function_node.hpp - nodes that run code of the host.
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

// A node that runs a function at each launch: what launch_host() becomes in a capture.
class WEIR_EXPORT host_function_node : public detail::typed_node<node_kind::host_function> {
 public:
  using typed_node::typed_node;

  // cuGraphHostNodeGetParams.
  [[nodiscard]] host_function_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there. The old function
  // is kept no more by the graph. cuGraphHostNodeSetParams.
  void set(const host_function_parameters& what, call_site at = call_site::current()) const;
};

namespace detail {

struct node_closure : keep_alive {
  void (*invoke)(node_closure& self) = nullptr;  // may throw
};

// What the driver calls with one of them.
[[nodiscard]] WEIR_EXPORT void (*closure_runner() noexcept)(void*);

}  // namespace detail

// The function of such a node. What holds for launch_host() holds for it: f(), called as an lvalue,
// on a thread of the driver's, without CUDA calls; what it throws goes to
// set_unhandled_error_handler. Parameters, graphs and executables that have it share one function
// object, which is destroyed once, after the last of them and of their launches, on a thread where
// CUDA calls are allowed.
class WEIR_EXPORT host_function_parameters {
 public:
  using node_type = host_function_node;

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

  // The same for C: f(data), and nothing is kept. Null is refused by the driver (invalid_value).
  host_function_parameters(void (*f)(void* data), void* data) noexcept
      : function_{f}, data_{data} {}

  // What the driver is given. Of a node that a capture made, or that somebody else did, that is all
  // there is to have; such parameters keep nothing.
  [[nodiscard]] void (*function() const noexcept)(void*) { return function_; }
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  friend class host_function_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return {&closure_, 1}; }

  void (*function_)(void*);
  void* data_ = nullptr;
  detail::keep_alive_ref closure_;
};

}  // namespace weir
