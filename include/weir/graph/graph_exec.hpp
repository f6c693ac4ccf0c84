// SPDX-License-Identifier: Apache-2.0
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
#include <vector>

namespace weir {

namespace detail {
class exec_state;
}

/// Says why an executable could not be updated. The values are those of the driver
/// (CUgraphExecUpdateResult).
enum class update_reason : unsigned {
  none = 0,              ///< the executable was updated
  other = 1,             ///< the reason is not known
  topology = 2,          ///< the graphs have different nodes or edges
  node_kind = 3,         ///< a node has another kind
  function = 4,          ///< a kernel node runs another function, on a driver before CUDA 11.2
  parameters = 5,        ///< a parameter changed that cannot change for this kind of node
  not_supported = 6,     ///< a property of the node cannot be updated
  function_context = 7,  ///< the kernel is of another context, or launches from the device
  attributes = 8,        ///< an attribute of the node changed that cannot change
};

/// The result of graph_exec::update() and update_or_reinstantiate(). Converts to true if the
/// executable was updated, and to false if it was not or had to be replaced.
struct graph_update {
  /// Why the update failed; update_reason::none if it succeeded.
  update_reason reason = update_reason::none;
  /// The node of the new graph that prevents the update; null if no single node does.
  graph_node node;
  /// The node from which the offending edge starts; null if no edge is the cause.
  graph_node edge_source;

  /// Returns true if the executable was updated.
  [[nodiscard]] constexpr explicit operator bool() const noexcept {
    return reason == update_reason::none;
  }
};

class graph_exec;

namespace detail {

/// A transaction of graph_exec::set(). The constructor stores the new owners of the node and the
/// memory that the node uses. commit() replaces the node's previous owners by them, after the
/// driver has accepted the parameters. Without commit(), the destructor drops them.
class WEIR_EXPORT node_change {
 public:
  node_change(graph_exec& exec, graph_node node, owner_list owners,
              const std::vector<region>& memory, call_site at);
  node_change(const node_change&) = delete;
  node_change& operator=(const node_change&) = delete;
  ~node_change();
  void commit() noexcept;

 private:
  node_change(graph_exec& exec, graph_node node) noexcept : exec_{exec}, node_{node} {}

  graph_exec& exec_;
  graph_node node_;
  bool pushed_ = false;  ///< true if the constructor made the executable's context current
};

}  // namespace detail

/// Owns an executable graph, created by graph::instantiate().
///
/// Launches of one executable run one after the other, on any streams. Launches of different
/// executables may overlap. Move-only. A moved-from or closed executable throws `closed` when used.
///
/// In a host function: throws `not_permitted`.
/// Thread safety: launch() and upload() may be called from any thread; updating, moving and closing
/// need exclusive access.
class WEIR_EXPORT graph_exec {
 public:
  /// Takes ownership of an executable that was created directly through the driver.
  ///
  /// Throws: `invalid_handle` if `handle` is null.
  [[nodiscard]] static graph_exec adopt(CUgraphExec_st* handle,
                                        call_site at = call_site::current());

  graph_exec(graph_exec&& other) noexcept
      : handle_{std::exchange(other.handle_, detail::closed_handle<CUgraphExec_st>())},
        context_{other.context_},
        flags_{other.flags_},
        state_{std::exchange(other.state_, nullptr)} {}
  graph_exec& operator=(graph_exec&& other) noexcept;
  /// Destroys the executable and never blocks. Queued launches run to their end, and owners that
  /// the graph keeps stay alive until then. Errors go to set_unhandled_error_handler.
  ///
  /// In a capture: allowed, from every thread.
  /// In a host function: allowed; another thread destroys the executable.
  ~graph_exec();

  /// Queues the whole graph as one operation of the stream, and returns without waiting.
  ///
  /// In a capture: throws `stream_capture_unsupported` if the stream is capturing. The capture
  /// stays valid.
  /// Driver: cuGraphLaunch.
  void launch(stream_ref stream, call_site at = call_site::current()) const;

  /// Prepares the device for launches, in the order of the stream, so that the first launch costs
  /// no more than later launches. Runs no operation of the graph.
  ///
  /// In a capture: as launch().
  /// Driver: cuGraphUpload.
  void upload(stream_ref stream, call_site at = call_site::current()) const;

  /// Launches the graph and returns the completion of that launch (weir/completion/completion.hpp).
  ///
  /// Throws: what stream.completion() throws, before anything is queued. If tracking the end of the
  /// queued launch fails, this call throws, too, but the launch runs. The error's text says so.
  /// In a capture: as launch().
  /// Driver: cuGraphLaunch, cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] completion launch_with_completion(stream_ref stream,
                                                  call_site at = call_site::current()) const;
  /// Uploads the graph and returns the completion of that upload (weir/completion/completion.hpp).
  ///
  /// Throws: what stream.completion() throws, before anything is queued.
  /// In a capture: as launch().
  /// Driver: cuGraphUpload, cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] completion upload_with_completion(stream_ref stream,
                                                  call_site at = call_site::current()) const;

  /// Changes the executable to do what `source` describes. `source` must have equal nodes and
  /// edges; only parameters may differ. Queued launches do not change.
  /// If the update is not possible, the result says why, and the executable stays as it was and can
  /// be launched. After a successful update it keeps alive the owners that `source` keeps alive.
  ///
  /// Throws: `illegal_state` if `source` is being captured; the driver's error for any failure
  /// other than graphs that do not match.
  /// In a capture: allowed while another graph is being captured.
  /// Driver: cuGraphExecUpdate.
  [[nodiscard]] graph_update update(graph_ref source, call_site at = call_site::current());

  /// Like update(), but if the update is not possible, replaces the executable: instantiates
  /// `source` with the options of this executable. The result then holds the reason why the update
  /// failed.
  ///
  /// Throws: as update() and graph_ref::instantiate(); the executable then stays as it was. Throws
  /// `not_supported` for a graph that allocates or has conditional nodes, because such a graph can
  /// have one executable at a time. Close this executable first, then instantiate.
  /// Driver: cuGraphExecUpdate, cuGraphInstantiateWithParams.
  graph_update update_or_reinstantiate(graph_ref source, call_site at = call_site::current());

  /// Sets the parameters of one node for later launches: exec.set(a, fill_parameters{x, 2.0f}).
  /// Queued launches and the node in its graph do not change.
  /// `node` is a node of the graph from which this executable was instantiated; that graph must
  /// still exist. `parameters` replaces all parameters of the node.
  /// The executable keeps the owners in `parameters` until set() or update() replaces them or the
  /// executable is destroyed, and the launches before that have finished. Launches made directly
  /// through the driver (cuGraphLaunch) are not tracked, so their end is not awaited. Owners of a
  /// released executable are never freed. The parameters of a child graph also keep every owner
  /// that the child graph keeps alive. The free of a buffer in `parameters` waits for the launches
  /// that were queued before it.
  ///
  /// Throws: `invalid_value` for a node of another graph. Throws `invalid_value` for parameters
  /// whose kind of memory, context or shape differs from the node's. Throws
  /// `graph_exec_update_failure` for a child graph of another shape. After an error the node stays
  /// as it was. The parameters of allocation, free and conditional nodes do not compile.
  /// Driver: cuGraphExecMemsetNodeSetParams, cuGraphExecMemcpyNodeSetParams,
  /// cuGraphExecHostNodeSetParams and so on; for a child graph also cuGraphClone.
  template <detail::node_parameters Parameters>
  void set(typename Parameters::node_type node, const Parameters& parameters,
           call_site at = call_site::current()) {
    const auto owners = detail::node_access::owners_in_exec(parameters, at);
    detail::node_change change{*this, node, owners, detail::node_access::memory_of(parameters), at};
    detail::node_access::set_in_exec(parameters, handle_, node, at);
    change.commit();
  }

  /// Disables a node in later launches. The node then does nothing, but keeps its dependencies and
  /// its parameters, which can still be set. update() leaves it disabled.
  ///
  /// Throws: `invalid_value` unless the node is a kernel, copy or fill.
  /// Driver: cuGraphNodeSetEnabled.
  void disable(graph_node node, call_site at = call_site::current());
  /// Enables a node again that disable() disabled, for later launches.
  ///
  /// Throws: `invalid_value` unless the node is a kernel, copy or fill.
  /// Driver: cuGraphNodeSetEnabled.
  void enable(graph_node node, call_site at = call_site::current());
  /// Returns true if the node is enabled in later launches.
  ///
  /// Throws: `invalid_value` unless the node is a kernel, copy or fill.
  /// Driver: cuGraphNodeGetEnabled.
  [[nodiscard]] bool enabled(graph_node node, call_site at = call_site::current()) const;

  /// Returns the node that had this tag in the graph at instantiation. Use it with set(), enable()
  /// and disable() while that graph exists. Returns a null node if no node had the tag. Nodes
  /// inside child graphs and bodies are not searched. No driver call.
  ///
  /// Throws: `invalid_value` if several nodes had the tag, or if the node or its graph was
  /// destroyed.
  [[nodiscard]] graph_node find(std::string_view tag, call_site at = call_site::current()) const;

  /// Returns the options with which the executable was instantiated. upload_in is never set. The
  /// driver does not report node_priorities, so it is false for an adopted executable.
  ///
  /// Driver: cuGraphExecGetFlags.
  [[nodiscard]] instantiate_options options(call_site at = call_site::current()) const;

  /// Destroys the executable now and reports errors. A second call does nothing.
  ///
  /// Driver: cuGraphExecDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the object owns no executable: it was closed, released or moved from.
  [[nodiscard]] bool closed() const noexcept {
    return handle_ == detail::closed_handle<CUgraphExec_st>();
  }

  /// Gives up ownership and returns the handle; the caller must destroy the executable. The object
  /// is closed afterwards.
  [[nodiscard]] CUgraphExec_st* release(call_site at = call_site::current());

  /// Returns the driver's handle. No driver call.
  [[nodiscard]] CUgraphExec_st* get() const noexcept { return handle_; }
  /// Converts to the driver's handle (CUgraphExec, cudaGraphExec_t).
  operator CUgraphExec_st*() const noexcept { return handle_; }
  /// Returns true if both have one handle. Two closed objects are equal.
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
  /// The context in which weir instantiated the executable; null if not known, as after adopt().
  CUctx_st* context_;
  unsigned flags_;  ///< the options of the instantiation (CUgraphInstantiate_flags)
  /// The tags, the owners that set() keeps, and other state of the executable. Null while there is
  /// none.
  detail::exec_state* state_ = nullptr;
};

}  // namespace weir
