// SPDX-License-Identifier: Apache-2.0
// weir/graph/graph.hpp - graphs: operations and their dependencies, recorded once and run many
// times.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/stream/stream.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

class context_ref;
class graph;
class graph_exec;

namespace detail {

/// Transfers the reference to the graph. When no graph, executable or launch refers to the owner
/// any more, the reclaimer thread destroys it. If the transfer fails, the reference is dropped.
WEIR_EXPORT void keep_in_graph(CUgraph_st* graph, keep_alive_ref owner, call_site at);

/// Returns the context in which instantiate() instantiates the graph; null for the current context.
[[nodiscard]] CUctx_st* instantiate_context_of(const graph& captured) noexcept;
/// Closes `owner` and returns the handle, without destroying the graph. The caller takes over the
/// ownership.
CUgraph_st* detach_graph(graph& owner) noexcept;

}  // namespace detail

/// Selects what graph_ref::dot() writes about each node. Values combine with | and equal those of
/// the driver (CUgraphDebugDot_flags).
enum class dot_detail : unsigned {
  names = 0,  ///< the nodes and their order only
  /// Everything the driver can write.
  verbose = 1,
  runtime_types = 2,
  kernel_parameters = 4,
  copy_parameters = 8,
  fill_parameters = 0x10,
  host_function_parameters = 0x20,
  event_parameters = 0x40,
  semaphore_signal_parameters = 0x80,
  semaphore_wait_parameters = 0x100,
  kernel_attributes = 0x200,
  handles = 0x400,
  allocation_parameters = 0x800,
  free_parameters = 0x1000,
  value_batch_parameters = 0x2000,
  topology = 0x4000,
  conditional_parameters = 0x8000,
};

/// Combines two sets of details.
[[nodiscard]] constexpr dot_detail operator|(dot_detail a, dot_detail b) noexcept {
  return static_cast<dot_detail>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// Options of graph_ref::instantiate().
struct instantiate_options {
  /// Before each launch, frees the memory that the previous launch allocated and that is not freed
  /// yet. Without this option, a launch fails while such memory exists.
  bool auto_free_on_launch = false;
  /// Also allows launches from device code. The graph may hold only kernels, copies, fills and
  /// child graphs, all of one device. Cannot be combined with auto_free_on_launch.
  bool device_launch = false;
  /// Runs nodes with their own priorities instead of the priority of the launching stream.
  bool node_priorities = false;
  /// Uploads the executable on this stream as part of the instantiation; see graph_exec::upload().
  std::optional<stream_ref> upload_in = std::nullopt;
};

/// A borrowed graph. Trivially copyable; pass by value. Valid while its owner is alive.
///
/// A graph is a set of operations (nodes) and dependencies between them (edges). It cannot be
/// launched itself: instantiate() creates an executable from it.
///
/// In a capture: allowed unless a member says otherwise, also while the graph itself is being
/// captured.
/// In a host function: throws `not_permitted`.
/// Thread safety: const queries may run in any thread while no other thread changes the graph.
class WEIR_EXPORT graph_ref {
 public:
  /// Refers to a graph of the driver (CUgraph, cudaGraph_t). No driver call.
  constexpr explicit graph_ref(CUgraph_st* handle) noexcept : handle_{handle} {}
  graph_ref(int) = delete;  // 0 is not a graph

  /// Returns the nodes in topological order: each after all nodes it depends on. If the graph has a
  /// cycle, the nodes of the cycle come last. Nodes inside child graphs and conditional bodies are
  /// not included.
  ///
  /// Driver: cuGraphGetNodes, cuGraphGetEdges.
  [[nodiscard]] std::vector<graph_node> nodes(call_site at = call_site::current()) const;
  /// Returns the number of nodes, without those inside child graphs and conditional bodies.
  ///
  /// Driver: cuGraphGetNodes.
  [[nodiscard]] std::size_t node_count(call_site at = call_site::current()) const;
  /// Returns the nodes that depend on no other node.
  ///
  /// Driver: cuGraphGetRootNodes.
  [[nodiscard]] std::vector<graph_node> roots(call_site at = call_site::current()) const;
  /// Returns all edges, each with its data.
  ///
  /// Driver: cuGraphGetEdges.
  [[nodiscard]] std::vector<graph_edge> edges(call_site at = call_site::current()) const;

  /// Returns a copy of the graph. The copy keeps alive every owner that this graph keeps alive.
  ///
  /// Throws: `not_supported` if the graph has allocation, free or conditional nodes.
  /// Driver: cuGraphClone.
  [[nodiscard]] graph clone(call_site at = call_site::current()) const;
  /// Returns this graph's copy of `original`. This graph must be a clone() of the graph that holds
  /// `original`.
  ///
  /// Driver: cuGraphNodeFindInClone.
  [[nodiscard]] graph_node find_clone_of(graph_node original,
                                         call_site at = call_site::current()) const;

  /// Adds a node that runs the operation described by `parameters`, after the nodes in
  /// `dependencies`. Returns the typed view of the new node:
  ///
  ///   g.add(fill_parameters{x, 1.0f}, {a, b});
  ///
  /// `parameters` is one of fill_, copy_, host_function_, child_graph_, empty_, event_record_,
  /// event_wait_, allocation_, free_, value_batch_, kernel_, semaphore_signal_ and
  /// semaphore_wait_parameters, or one of if_, if_else_, while_ and switch_parameters. Each has a
  /// header of its kind; graph_nodes.hpp includes all. The graph keeps the owners that `parameters`
  /// holds.
  /// Copies, fills and waits run in the context of their memory. If weir does not know that
  /// context, they run in the current context, or else in the primary context of device 0.
  ///
  /// Throws: `invalid_value` if `dependencies` names a node of another graph, or a node twice. If
  /// the call throws, nothing was added.
  /// In a capture: allowed on the graph being captured. Operations that are captured after this
  /// call do not depend on the new node.
  /// Driver: cuGraphAddNode; for owners also cuUserObjectCreate and cuGraphRetainUserObject.
  template <detail::node_parameters Parameters>
  typename Parameters::node_type add(const Parameters& parameters,
                                     dependency_list dependencies = {},
                                     call_site at = call_site::current()) const {
    CUgraphNode_st* const added = detail::node_access::add(parameters, {handle_, dependencies}, at);
    return typename Parameters::node_type{detail::known_kind{}, graph_node{added, handle_}};
  }

  /// Returns a node that comes after all of `nodes`. If `nodes` has a single node, returns that
  /// node; otherwise adds an empty node.
  ///
  /// Driver: cuGraphAddNode.
  graph_node join(dependency_list nodes, call_site at = call_site::current()) const;

  /// Removes a node together with its edges, and releases the owners it kept. Do not use `node`
  /// afterwards. Existing executables do not change.
  ///
  /// Throws: `illegal_state` if the graph is being captured, or if a capture records into a child
  /// graph or a body of the node. `not_supported` if the graph has allocation or free nodes.
  /// Driver: cuGraphDestroyNode.
  void remove(graph_node node, call_site at = call_site::current()) const;

  /// Adds a dependency: `target` runs after `source`. A cycle can be built; instantiate() refuses
  /// it.
  ///
  /// Throws: as add_dependencies().
  /// Driver: cuGraphAddDependencies.
  void add_dependency(graph_node source, graph_node target, edge_data data = {},
                      call_site at = call_site::current()) const {
    const graph_edge edge{source, target, data};
    add_dependencies({&edge, 1}, at);
  }
  /// Adds dependencies between nodes of this graph; all or none.
  ///
  /// Throws: `invalid_value` for a node of another graph, an edge from a node to itself, an
  /// existing edge, an edge listed twice, or edge data that these node kinds lack. The text names
  /// the edge and the reason.
  /// Driver: cuGraphAddDependencies.
  void add_dependencies(std::span<const graph_edge> edges,
                        call_site at = call_site::current()) const;
  /// Removes a dependency. `data` need not be given.
  ///
  /// Throws: as remove_dependencies().
  /// Driver: cuGraphRemoveDependencies.
  void remove_dependency(graph_node source, graph_node target, edge_data data = {},
                         call_site at = call_site::current()) const {
    const graph_edge edge{source, target, data};
    remove_dependencies({&edge, 1}, at);
  }
  /// Removes dependencies between nodes of this graph; all or none. The edges need not state their
  /// data.
  ///
  /// Throws: `invalid_value`, with the edge and the reason in the text, for a node of another
  /// graph, an edge that does not exist, or an edge listed twice. `illegal_state` if the graph is
  /// being captured; `not_supported` if it has allocation or free nodes.
  /// Driver: cuGraphRemoveDependencies.
  void remove_dependencies(std::span<const graph_edge> edges,
                           call_site at = call_site::current()) const;

  /// Gives a node a name (its tag), which find() looks up and which messages and drawings show. A
  /// new tag replaces the previous one; an empty name removes it. Several nodes may have equal
  /// tags.
  /// Node handles do not survive copying a graph, but tags do: clone(), child_graph_parameters and
  /// instantiate() copy them. A tag is removed with its node or its graph. If the graph is
  /// destroyed directly through the driver, its tags are removed with its last clone or executable.
  ///
  /// Throws: `invalid_value` if the node belongs to another graph or was removed. A node that weir
  /// has seen, and that was removed directly through the driver, is not detected.
  /// Driver: cuUserObjectCreate and cuGraphRetainUserObject, once per graph; cuGraphGetNodes for a
  /// node that weir has not seen, which makes all nodes known that the graph has at that time.
  void tag(graph_node node, std::string_view name, call_site at = call_site::current()) const;
  /// Returns the tag of a node; empty if it has none. No driver call.
  [[nodiscard]] std::string tag_of(graph_node node, call_site at = call_site::current()) const;
  /// Returns the node with this tag, or a null node if there is none. Nodes inside child graphs and
  /// conditional bodies are not searched. No driver call.
  ///
  /// Throws: `invalid_value` if several nodes have this tag.
  [[nodiscard]] graph_node find(std::string_view tag, call_site at = call_site::current()) const;

  /// Creates an executable from the present state of the graph. The executable is independent of
  /// the graph: later changes of the graph do not affect it, and the graph may be destroyed.
  /// The executable belongs to the current context, or else to the primary context of device 0.
  /// Instantiate once and launch often. Include weir/graph/graph_exec.hpp.
  ///
  /// Throws: the driver's error for a cycle, a condition that no node uses, or the option
  /// device_launch for a graph with host operations. The text has the reason and the node. Throws
  /// `illegal_state` if the graph, or a child graph or conditional body in it, is being captured.
  /// In a capture: allowed while another graph is being captured.
  /// Cost: some microseconds per node.
  /// Driver: cuGraphInstantiateWithParams.
  [[nodiscard]] graph_exec instantiate(instantiate_options options = {},
                                       call_site at = call_site::current()) const;

  /// Moves or copies `owner` into the graph, for buffers and other objects that its operations use.
  /// The owner stays alive until the graph, its clones and all their executables are destroyed and
  /// their launches have finished.
  /// The destructor of `owner` runs once after that, on a thread where CUDA calls are allowed.
  /// drain_deferred() waits for no launches, so it may return before that destructor runs. If the
  /// graph cannot take the owner, this call destroys it.
  ///
  /// Driver: cuUserObjectCreate, cuGraphRetainUserObject.
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    using box = detail::keep_alive_box<std::decay_t<Owner>>;
    detail::keep_in_graph(handle_, detail::keep_alive_ref{*new box{std::forward<Owner>(owner)}},
                          at);
  }

  /// Returns the driver's description of the graph in the DOT language. weir adds attributes to the
  /// nodes: `weir_tag`, `weir_call_site` ("main.cpp:12", for nodes added through weir) and
  /// `weir_event`, the name of an event. Leaves no file behind.
  /// The program `weir graph FILE.dot -o FILE.svg` makes a readable drawing of it.
  ///
  /// Driver: cuGraphDebugDotPrint; a second call for a graph with such attributes, to find the
  /// nodes that have them.
  [[nodiscard]] std::string dot(dot_detail details = dot_detail::names,
                                call_site at = call_site::current()) const;
  /// Writes the description that dot() returns to a file, completely or not at all. A target that
  /// is not a regular file (/dev/stdout, a pipe) is written to directly.
  ///
  /// Throws: `operating_system`, with the path in the text, or the driver's error. The previous
  /// content of the file stays.
  /// Driver: cuGraphDebugDotPrint.
  void write_dot(const std::string& path, dot_detail details = dot_detail::names,
                 call_site at = call_site::current()) const;

  /// Returns the driver's handle. No driver call.
  [[nodiscard]] constexpr CUgraph_st* get() const noexcept { return handle_; }
  /// Converts to the driver's handle (CUgraph, cudaGraph_t).
  constexpr operator CUgraph_st*() const noexcept { return handle_; }
  /// Returns true if both have one handle.
  friend constexpr bool operator==(graph_ref a, graph_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 protected:
  /// Replaces the handle and returns the previous one. Only the owner, class graph, calls it.
  CUgraph_st* exchange_handle(CUgraph_st* replacement) noexcept {
    return std::exchange(handle_, replacement);
  }

 private:
  CUgraph_st* handle_;
};

static_assert(std::is_trivially_copyable_v<graph_ref> && sizeof(graph_ref) == sizeof(void*));

constexpr graph_ref graph_node::graph() const noexcept { return graph_ref{graph_}; }

/// Owns a graph that was captured by capture() or built node by node. Has all operations of
/// graph_ref, and converts to it.
///
/// Move-only. A moved-from or closed graph throws `closed` when used.
///
/// Thread safety: the operations of graph_ref as documented there; moving and closing need
/// exclusive access.
///
/// Do not assign through a `graph_ref&` that is bound to an owner, and do not delete an owner as
/// its base: the graph would leak, or be destroyed twice.
class WEIR_EXPORT graph : public graph_ref {
 public:
  /// Creates an empty graph.
  ///
  /// Driver: cuGraphCreate.
  explicit graph(call_site at = call_site::current());

  /// Takes ownership of a graph that was created directly through the driver. instantiate() uses
  /// the current context, or else the primary context of device 0.
  ///
  /// Throws: `invalid_handle` if `handle` is null.
  [[nodiscard]] static graph adopt(CUgraph_st* handle, call_site at = call_site::current());
  /// Takes ownership of a graph that was created directly through the driver. instantiate() uses
  /// `context`.
  ///
  /// Throws: `invalid_handle` if `handle` is null; `closed` if `context` is closed.
  [[nodiscard]] static graph adopt(CUgraph_st* handle, context_ref context,
                                   call_site at = call_site::current());

  graph(graph&& other) noexcept
      : graph_ref{other.exchange_handle(detail::closed_handle<CUgraph_st>())},
        context_{other.context_} {}
  /// Destroys the graph of this object, and takes over the graph of `other`.
  graph& operator=(graph&& other) noexcept;
  /// Destroys the graph and never blocks. Its executables stay valid. Errors go to
  /// set_unhandled_error_handler.
  ///
  /// In a capture: allowed. If the capture records into this graph or a part of it (capture_to),
  /// the graph is destroyed when the capture ends.
  /// In a host function: allowed; another thread destroys the graph.
  ~graph();

  /// Destroys the graph now and reports errors. A second call does nothing.
  ///
  /// Throws: `illegal_state` while a capture records into the graph or a part of it (capture_to);
  /// the graph stays open.
  /// Driver: cuGraphDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the object owns no graph: it was closed, released or moved from.
  [[nodiscard]] bool closed() const noexcept {
    return get() == detail::closed_handle<CUgraph_st>();
  }

  /// Gives up ownership and returns the handle; the caller must destroy the graph. The object is
  /// closed afterwards.
  [[nodiscard]] CUgraph_st* release(call_site at = call_site::current());

  /// Like graph_ref::clone(). The copy is instantiated in the context of the stream from which this
  /// graph was captured, if there is one.
  ///
  /// Driver: cuGraphClone.
  [[nodiscard]] graph clone(call_site at = call_site::current()) const;
  /// Like graph_ref::instantiate(), but in the context of the stream from which the graph was
  /// captured, if there is one.
  ///
  /// Driver: cuGraphInstantiateWithParams.
  [[nodiscard]] graph_exec instantiate(instantiate_options options = {},
                                       call_site at = call_site::current()) const;

  /// Returns the reference to this graph.
  [[nodiscard]] graph_ref ref() const noexcept { return *this; }

 private:
  friend CUctx_st* detail::instantiate_context_of(const graph& captured) noexcept;
  friend CUgraph_st* detail::detach_graph(graph& owner) noexcept;
  graph(CUgraph_st* handle, CUctx_st* context) noexcept : graph_ref{handle}, context_{context} {}

  /// The context of the stream from which the graph was captured, or that was given to adopt().
  /// Null if there is none: instantiate() then uses the current context.
  CUctx_st* context_ = nullptr;
};

static_assert(!std::is_copy_constructible_v<graph> && !std::is_constructible_v<graph, graph_ref> &&
              !std::is_assignable_v<graph&, graph_ref>);

}  // namespace weir
