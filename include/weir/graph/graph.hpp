// weir/graph/graph.hpp - graphs: operations and their order, recorded once, to be run many times.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
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

// Gives the object to the graph: object.run(object) is called on weir's own thread when the last
// graph, executable and launch that has it is gone; here and now if the graph cannot take it.
WEIR_EXPORT void keep_in_graph(CUgraph_st* graph, deferred_task& object, call_site at);

// The context that a graph is instantiated in; null if nobody knows.
[[nodiscard]] CUctx_st* instantiate_context_of(const graph& captured) noexcept;
// Closes the owner, and leaves the graph to the library.
CUgraph_st* detach_graph(graph& owner) noexcept;

template <class Owner>
void keep_owner(CUgraph_st* graph, Owner&& owner, call_site at) {
  using kept = std::decay_t<Owner>;
  static_assert(std::is_nothrow_destructible_v<kept>);
  struct box final : deferred_task {
    explicit box(Owner&& source)
        : deferred_task{nullptr, &end}, held(std::forward<Owner>(source)) {}
    static task_result end(deferred_task& self) noexcept {
      delete static_cast<box*>(&self);
      return task_result::done;
    }
    kept held;
  };
  keep_in_graph(graph, *new box{std::forward<Owner>(owner)}, at);
}

}  // namespace detail

// What a graph's description in the DOT language tells; the numbers are the driver's, and they
// combine with |.
enum class dot_detail : unsigned {
  names = 0,  // which nodes there are, and their order
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

[[nodiscard]] constexpr dot_detail operator|(dot_detail a, dot_detail b) noexcept {
  return static_cast<dot_detail>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

struct instantiate_options {
  // Frees what the last launch has allocated and nobody has freed, before each launch. Without it
  // such a launch fails.
  bool auto_free_on_launch = false;
  // The device may launch it, too. Kernels, copies, fills and child graphs only, of one device; not
  // with the above.
  bool device_launch = false;
  // Nodes run with the priorities that they have, not with that of the stream that launches.
  bool node_priorities = false;
  // Uploads it there at once; see graph_exec::upload().
  std::optional<stream_ref> upload_in = std::nullopt;
};

// A graph, borrowed: valid while its owner is. Trivially copyable; pass by value.
// Thread safety: questions from any thread, as long as nobody changes the graph. In a host
// function: refused (not_permitted). In a capture: allowed, also while the graph itself is being
// captured, unless said otherwise.
class WEIR_EXPORT graph_ref {
 public:
  constexpr explicit graph_ref(CUgraph_st* handle) noexcept : handle_{handle} {}
  graph_ref(int) = delete;  // 0 is not a graph

  // Its nodes, each after all that it depends on; of a graph with a cycle those of the cycle come
  // last. Those in child graphs and in bodies are theirs. cuGraphGetNodes, cuGraphGetEdges.
  [[nodiscard]] std::vector<graph_node> nodes(call_site at = call_site::current()) const;
  // How many. cuGraphGetNodes.
  [[nodiscard]] std::size_t node_count(call_site at = call_site::current()) const;
  // The nodes that depend on none. cuGraphGetRootNodes.
  [[nodiscard]] std::vector<graph_node> roots(call_site at = call_site::current()) const;
  // cuGraphGetEdges.
  [[nodiscard]] std::vector<graph_edge> edges(call_site at = call_site::current()) const;

  // A copy that keeps alive what this one does. The driver refuses it (not_supported) for graphs
  // that allocate, free or have conditional nodes. cuGraphClone.
  [[nodiscard]] graph clone(call_site at = call_site::current()) const;
  // The copy of that node in a graph that clone() made of its own graph. cuGraphNodeFindInClone.
  [[nodiscard]] graph_node find_clone_of(graph_node original,
                                         call_site at = call_site::current()) const;

  // Adds a node that does what the parameters say, after those in the list:
  // g.add(fill_parameters{x, 1.0f}, {a, b}). It gives the node as what it is. There are fill_,
  // copy_, host_function_, child_graph_, empty_, event_record_, event_wait_, allocation_, free_,
  // value_batch_, kernel_, semaphore_signal_ and semaphore_wait_parameters, and if_, if_else_,
  // while_ and switch_parameters, each in a header of its kind (graph_nodes.hpp has all). What they
  // keep, the graph keeps. Strong: if it fails nothing was added. A node of another graph in the
  // list is refused (invalid_value), and so is one that is named twice. Copies, fills and waits
  // belong to the context of their memory, else to the current one, else to the primary one of
  // device 0. While the graph is being captured: allowed; no operation of the streams comes after
  // it by itself. cuGraphAddNode, and where there are owners cuUserObjectCreate,
  // cuGraphRetainUserObject.
  template <detail::node_parameters What>
  typename What::node_type add(const What& what, dependency_list after = {},
                               call_site at = call_site::current()) const {
    CUgraphNode_st* const added = detail::node_access::add(what, handle_, after, at);
    return typename What::node_type{detail::known_kind{}, graph_node{added, handle_}};
  }

  // A node that comes after all of these: itself if it is one, else a new empty one.
  // cuGraphAddNode.
  graph_node join(dependency_list nodes, call_site at = call_site::current()) const;

  // Takes a node and its edges out, and lets go of what it kept. From then on it names nothing.
  // Executables stay what they are. The driver refuses it while the graph is being captured
  // (illegal_state), and of graphs that allocate or free (not_supported); weir while a capture
  // records into a child graph or a body of the node (illegal_state). cuGraphDestroyNode.
  void remove(graph_node node, call_site at = call_site::current()) const;

  // Orders two nodes of this graph, or takes such an order out. Strong: of several either all or
  // none. Refused (invalid_value, with the edge and the reason in the text): a node that is none or
  // another graph's, an order of a node and itself, one that is there already, or is not there, one
  // that is named twice; and, where it is added, data that these kinds do not have: to take one
  // out, its data need not be told. A cycle can be built, and is refused where it is instantiated.
  // Taking out is refused by the driver as remove(). cuGraphAddDependencies,
  // cuGraphRemoveDependencies.
  void add_dependency(graph_node from, graph_node to, edge_data data = {},
                      call_site at = call_site::current()) const {
    const graph_edge edge{from, to, data};
    add_dependencies({&edge, 1}, at);
  }
  void add_dependencies(std::span<const graph_edge> edges,
                        call_site at = call_site::current()) const;
  void remove_dependency(graph_node from, graph_node to, edge_data data = {},
                         call_site at = call_site::current()) const {
    const graph_edge edge{from, to, data};
    remove_dependencies({&edge, 1}, at);
  }
  void remove_dependencies(std::span<const graph_edge> edges,
                           call_site at = call_site::current()) const;

  // A name of a node, for finding it again and for texts and pictures. A later one replaces an
  // earlier one, an empty one takes it away; several nodes may have the same. Handles do not
  // survive copying a graph; tags do: clone(), child_graph_parameters and instantiate() take them
  // along. They go with the node and with the graph; of a graph that somebody else destroys, with
  // the last that it leaves behind. Refused (invalid_value): a node that is another graph's, or
  // gone, unless it was added through weir and taken out past it. cuUserObjectCreate,
  // cuGraphRetainUserObject, once a graph; cuGraphGetNodes for the first tag of a node that was not
  // added through weir.
  void tag(graph_node node, std::string_view name, call_site at = call_site::current()) const;
  // The tag; empty if it has none. No driver call.
  [[nodiscard]] std::string tag_of(graph_node node, call_site at = call_site::current()) const;
  // The node of this graph, not of its parts, with that tag; none (a null one) if there is none;
  // several are refused (invalid_value). No driver call.
  [[nodiscard]] graph_node find(std::string_view tag, call_site at = call_site::current()) const;

  // Makes an executable of what the graph is now: later changes do not touch it, and it needs the
  // graph no more. In the current context, or, where there is none, in the primary context of
  // device 0. Fails with the reason and the node in its text: a cycle, a condition that no node
  // uses, an operation that has to stay on the host. A graph that is being captured, or has a part
  // that is, is refused (illegal_state). Do it once: it costs some microseconds a node. Include
  // weir/graph/graph_exec.hpp. In a capture of another graph: allowed.
  // cuGraphInstantiateWithParams.
  [[nodiscard]] graph_exec instantiate(instantiate_options options = {},
                                       call_site at = call_site::current()) const;

  // Takes the owner, by moving or copying it, and keeps it until the last of the graph, its clones,
  // the executables made of them and their launches is gone: for buffers and whatever else the
  // operations use. Its destructor runs once, on a thread where CUDA calls are allowed, some time
  // after that (drain_deferred() cannot wait for launches). If the graph cannot take it, it is
  // destroyed in the call. cuUserObjectCreate, cuGraphRetainUserObject.
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    detail::keep_owner(handle_, std::forward<Owner>(owner), at);
  }

  // Its description by the driver, in the DOT language, for Graphviz: `dot -Tsvg`. Leaves no file
  // behind. For pictures that people read: drawing_of() (graph_drawing.hpp). cuGraphDebugDotPrint.
  [[nodiscard]] std::string dot(dot_detail details = dot_detail::names,
                                call_site at = call_site::current()) const;
  // The same to a file, whole or not at all: if it fails (operating_system, with the path in the
  // text; or the driver's code) what was there before stays. What is no regular file (/dev/stdout,
  // a pipe) is written to as it is.
  void write_dot(const std::string& path, dot_detail details = dot_detail::names,
                 call_site at = call_site::current()) const;

  [[nodiscard]] constexpr CUgraph_st* get() const noexcept { return handle_; }
  constexpr operator CUgraph_st*() const noexcept { return handle_; }
  friend constexpr bool operator==(graph_ref a, graph_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  CUgraph_st* handle_;
};

static_assert(std::is_trivially_copyable_v<graph_ref> && sizeof(graph_ref) == sizeof(void*));

constexpr graph_ref graph_node::graph() const noexcept { return graph_ref{graph_}; }

// A graph of our own: what capture() gives, or what is built by hand. It converts to its reference
// and has its operations. Move-only; moved-from and closed ones answer `closed` when used. Thread
// safety: the reference's operations as there; moving and closing as any object.
class WEIR_EXPORT graph {
 public:
  // An empty one. cuGraphCreate.
  explicit graph(call_site at = call_site::current());

  // Takes over a graph; from now on it is ours to destroy. Null is refused (invalid_handle). The
  // second form says which context it is instantiated in.
  [[nodiscard]] static graph adopt(CUgraph_st* handle, call_site at = call_site::current());
  [[nodiscard]] static graph adopt(CUgraph_st* handle, context_ref context,
                                   call_site at = call_site::current());

  graph(graph&& other) noexcept
      : handle_{std::exchange(other.handle_, detail::closed_handle<CUgraph_st>())},
        context_{other.context_} {}
  graph& operator=(graph&& other) noexcept;
  // Never blocks; executables made of it go on. What fails goes to set_unhandled_error_handler. In
  // a host function: allowed; the destruction is left to another thread. In a capture: allowed;
  // where that records into this graph or a part of it (capture_to), the graph goes with the end of
  // it.
  ~graph();

  // Destroys it now and reports what fails; does nothing a second time. While a capture records
  // into it or a part of it (capture_to): refused (illegal_state), and it stays open.
  // cuGraphDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept {
    return handle_ == detail::closed_handle<CUgraph_st>();
  }

  // Gives the handle up; its destruction is the caller's. The object is closed.
  [[nodiscard]] CUgraph_st* release(call_site at = call_site::current());

  [[nodiscard]] std::vector<graph_node> nodes(call_site at = call_site::current()) const {
    return ref().nodes(at);
  }
  [[nodiscard]] std::size_t node_count(call_site at = call_site::current()) const {
    return ref().node_count(at);
  }
  [[nodiscard]] std::vector<graph_node> roots(call_site at = call_site::current()) const {
    return ref().roots(at);
  }
  [[nodiscard]] std::vector<graph_edge> edges(call_site at = call_site::current()) const {
    return ref().edges(at);
  }
  [[nodiscard]] graph clone(call_site at = call_site::current()) const;
  [[nodiscard]] graph_node find_clone_of(graph_node original,
                                         call_site at = call_site::current()) const {
    return ref().find_clone_of(original, at);
  }
  template <detail::node_parameters What>
  typename What::node_type add(const What& what, dependency_list after = {},
                               call_site at = call_site::current()) {
    return ref().add(what, after, at);
  }
  graph_node join(dependency_list nodes, call_site at = call_site::current()) {
    return ref().join(nodes, at);
  }
  void remove(graph_node node, call_site at = call_site::current()) { ref().remove(node, at); }
  void add_dependency(graph_node from, graph_node to, edge_data data = {},
                      call_site at = call_site::current()) {
    ref().add_dependency(from, to, data, at);
  }
  void add_dependencies(std::span<const graph_edge> edges, call_site at = call_site::current()) {
    ref().add_dependencies(edges, at);
  }
  void remove_dependency(graph_node from, graph_node to, edge_data data = {},
                         call_site at = call_site::current()) {
    ref().remove_dependency(from, to, data, at);
  }
  void remove_dependencies(std::span<const graph_edge> edges, call_site at = call_site::current()) {
    ref().remove_dependencies(edges, at);
  }
  void tag(graph_node node, std::string_view name, call_site at = call_site::current()) {
    ref().tag(node, name, at);
  }
  [[nodiscard]] std::string tag_of(graph_node node, call_site at = call_site::current()) const {
    return ref().tag_of(node, at);
  }
  [[nodiscard]] graph_node find(std::string_view tag, call_site at = call_site::current()) const {
    return ref().find(tag, at);
  }
  // In the context of the stream that it was captured in; of other graphs as the reference does it.
  [[nodiscard]] graph_exec instantiate(instantiate_options options = {},
                                       call_site at = call_site::current()) const;
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    ref().keep(std::forward<Owner>(owner), at);
  }
  [[nodiscard]] std::string dot(dot_detail details = dot_detail::names,
                                call_site at = call_site::current()) const {
    return ref().dot(details, at);
  }
  void write_dot(const std::string& path, dot_detail details = dot_detail::names,
                 call_site at = call_site::current()) const {
    ref().write_dot(path, details, at);
  }

  [[nodiscard]] CUgraph_st* get() const noexcept { return handle_; }
  operator CUgraph_st*() const noexcept { return handle_; }
  operator graph_ref() const noexcept { return ref(); }
  [[nodiscard]] graph_ref ref() const noexcept { return graph_ref{handle_}; }
  friend bool operator==(const graph& a, const graph& b) noexcept { return a.handle_ == b.handle_; }

 private:
  friend CUctx_st* detail::instantiate_context_of(const graph& captured) noexcept;
  friend CUgraph_st* detail::detach_graph(graph& owner) noexcept;
  graph(CUgraph_st* handle, CUctx_st* context) noexcept : handle_{handle}, context_{context} {}

  CUgraph_st* handle_;
  CUctx_st* context_ = nullptr;  // where it was captured; null if nobody knows
};

}  // namespace weir
