// weir/graph/graph_exec.hpp - executable graphs: launched as one operation of a stream.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace weir {

namespace detail {
class exec_state;
}

// Why an executable cannot be made into what another graph describes; the numbers are the driver's.
enum class update_reason : unsigned {
  none = 0,              // it was updated
  other = 1,             // nothing more is known
  topology = 2,          // other nodes, or another order of them
  node_kind = 3,         // a node does something else
  function = 4,          // a kernel node runs another function, on a driver before 11.2
  parameters = 5,        // a change that this kind of node does not allow
  not_supported = 6,     // something of the node cannot be updated
  function_context = 7,  // the kernel is of another context, or launches from the device
  attributes = 8,        // an attribute of the node changed in a way that is not allowed
};

// What came of an update. True if the executable is what the graph describes now.
struct graph_update {
  update_reason reason = update_reason::none;
  // The node of the new graph that does not fit, if one is to blame; and, where an edge is, the one
  // that it comes from.
  graph_node node;
  graph_node from;

  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return reason == update_reason::none;
  }
};

class graph_exec;

namespace detail {

// Around the change of one node of an executable: makes room for the owners before, has them kept
// in place of those of the node before once it is done.
class WEIR_EXPORT node_change {
 public:
  node_change(graph_exec& exec, graph_node node, owner_list owners, call_site at);
  node_change(const node_change&) = delete;
  node_change& operator=(const node_change&) = delete;
  ~node_change();
  void commit() noexcept;

 private:
  node_change(graph_exec& exec, graph_node node) noexcept : exec_{exec}, node_{node} {}

  graph_exec& exec_;
  graph_node node_;
  bool pushed_ = false;  // the context of the executable, which may be needed
};

}  // namespace detail

// An executable graph of our own, as graph::instantiate() makes it.
// Launches of one executable run one after the other, in whatever streams; those of different ones
// may overlap. Move-only; moved-from and closed ones answer `closed` when used. Thread safety:
// launch() and upload() from any thread; updates, moving and closing as any object. In a host
// function: refused (not_permitted).
class WEIR_EXPORT graph_exec {
 public:
  // Takes over an executable; from now on it is ours to destroy. Null is refused (invalid_handle).
  [[nodiscard]] static graph_exec adopt(CUgraphExec_st* handle,
                                        call_site at = call_site::current());

  graph_exec(graph_exec&& other) noexcept
      : handle_{std::exchange(other.handle_, detail::closed_handle<CUgraphExec_st>())},
        context_{other.context_},
        flags_{other.flags_},
        state_{std::exchange(other.state_, nullptr)} {}
  graph_exec& operator=(graph_exec&& other) noexcept;
  // Never blocks: launches that are queued run to their end, and what the graph keeps alive lives
  // until then. What fails goes to set_unhandled_error_handler. In a host function: allowed; the
  // destruction is left to another thread. In a capture: allowed, from every thread.
  ~graph_exec();

  // Queues all of it as one operation of the stream: after the work queued before, before the work
  // queued after. Does not block. In a capture of the stream: refused (stream_capture_unsupported);
  // the capture lives on. cuGraphLaunch.
  void launch(stream_ref stream, call_site at = call_site::current()) const;

  // Prepares the device for launches, in the order of the stream, so that the first one costs what
  // the others do; runs nothing. In a capture: as launch(). cuGraphUpload.
  void upload(stream_ref stream, call_site at = call_site::current()) const;

  // launch() and upload(), and the end of that, to be awaited or waited for
  // (weir/completion/completion.hpp). What stream.completion() refuses is refused before anything
  // is queued. Where the driver has no event for the end afterwards, the launch goes on, and the
  // error says so. cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] completion launch_async(stream_ref stream,
                                        call_site at = call_site::current()) const;
  [[nodiscard]] completion upload_async(stream_ref stream,
                                        call_site at = call_site::current()) const;

  // Makes it what `source` describes, if that has the same nodes in the same order with other
  // parameters. Launches that are queued stay what they were. If it cannot be, the answer says why,
  // and the executable stays what it was: still good to launch. From then on it keeps alive what
  // `source` does. A graph that is being captured is refused (illegal_state). Throws what fails for
  // another reason. In a capture of another graph: allowed. cuGraphExecUpdate.
  [[nodiscard]] graph_update update(graph_ref source, call_site at = call_site::current());

  // The same, but where it cannot be updated it is made anew, with the options that it had, and the
  // answer says why. Strong: if that throws, the executable is what it was. So of a graph that has
  // one executable at a time, as it allocates or has conditional nodes, there is none beside this
  // one (not_supported): close this one, and instantiate. cuGraphExecUpdate,
  // cuGraphInstantiateWithParams.
  graph_update update_or_reinstantiate(graph_ref source, call_site at = call_site::current());

  // Changes what one node does in launches from now on; those that are queued stay what they were,
  // and so does the node in its graph. The node is one of the graph that this was made of, which is
  // still there. The parameters are all of it: exec.set(a, fill_parameters{x, 2.0f}). What they
  // keep is kept until no launch can use it: until they are replaced, by this or by update(), or
  // the executable is gone, and the launches before that are done. Launches directly through the
  // driver (cuGraphLaunch) are not known of; what a released executable kept is kept for good. Of a
  // child graph all that it keeps is kept. What the driver refuses stays what it was: a node of
  // another graph, other kinds of memory, other contexts, another shape (invalid_value; of child
  // graphs graph_exec_update_failure), memory nodes and conditional ones at compile time.
  // cuGraphExecMemsetNodeSetParams, cuGraphExecMemcpyNodeSetParams, cuGraphExecHostNodeSetParams,
  // ..., and of a child graph cuGraphClone.
  template <detail::node_parameters What>
  void set(typename What::node_type node, const What& what, call_site at = call_site::current()) {
    const auto owners = detail::node_access::owners_in_exec(what, at);
    detail::node_change change{*this, node, owners, at};
    detail::node_access::set_in(what, handle_, node, at);
    change.commit();
  }

  // Switches a node off in launches from now on: it does nothing then, and keeps its place in the
  // order, and its parameters, which can still be set. Kernels, copies and fills only (else
  // invalid_value). update() leaves it off. cuGraphNodeSetEnabled, cuGraphNodeGetEnabled.
  void disable(graph_node node, call_site at = call_site::current());
  void enable(graph_node node, call_site at = call_site::current());
  [[nodiscard]] bool enabled(graph_node node, call_site at = call_site::current()) const;

  // The node that had this tag in the graph, and not in a part of it, when this was made of it: for
  // set() and the others, as long as that graph is there. None (a null one) if there was none;
  // refused (invalid_value): several, and one that is gone, with its graph or out of it. No driver
  // call.
  [[nodiscard]] graph_node find(std::string_view tag, call_site at = call_site::current()) const;

  // The options that it has. Never says that it was uploaded; and the driver does not tell
  // node_priorities, so an adopted one seems to have none. cuGraphExecGetFlags.
  [[nodiscard]] instantiate_options options(call_site at = call_site::current()) const;

  // Destroys it now and reports what fails; does nothing a second time. cuGraphExecDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept {
    return handle_ == detail::closed_handle<CUgraphExec_st>();
  }

  // Gives the handle up; its destruction is the caller's. The object is closed.
  [[nodiscard]] CUgraphExec_st* release(call_site at = call_site::current());

  [[nodiscard]] CUgraphExec_st* get() const noexcept { return handle_; }
  operator CUgraphExec_st*() const noexcept { return handle_; }
  friend bool operator==(const graph_exec& a, const graph_exec& b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  friend class graph;
  friend class graph_ref;
  friend class detail::node_change;
  graph_exec(CUgraphExec_st* handle, CUctx_st* context, unsigned flags) noexcept
      : handle_{handle}, context_{context}, flags_{flags} {}
  static graph_exec make(graph_ref source, CUctx_st* context, unsigned flags,
                         std::optional<stream_ref> upload_in, call_site at);

  CUgraphExec_st* handle_;
  CUctx_st* context_;  // where it was instantiated; null if nobody knows
  unsigned flags_;
  detail::exec_state* state_ =
      nullptr;  // the tags, and what set() keeps; null as long as there is neither
};

}  // namespace weir
