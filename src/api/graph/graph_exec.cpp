// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_exec.cpp - instantiates, launches, changes and destroys executable graphs.
#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/graph/exec_state.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/instantiation_failure.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_not_capturing;
using detail::require_open_exec;
using detail::subject;

namespace {

constexpr const char* instantiate_call = "cuGraphInstantiateWithParams";

unsigned flags_of(const instantiate_options& options) noexcept {
  return (options.auto_free_on_launch ? abi::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0u) |
         (options.device_launch ? abi::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH : 0u) |
         (options.node_priorities ? abi::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0u);
}

instantiate_options options_from(abi::cuuint64_t flags) noexcept {
  return {
      .auto_free_on_launch = (flags & abi::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0,
      .device_launch = (flags & abi::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0,
      .node_priorities = (flags & abi::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0};
}

abi::cuuint64_t query_flags(CUgraphExec_st* handle, call_site at) {
  constexpr const char* call = "cuGraphExecGetFlags";
  CUgraphExec_st* const exec = require_open_exec(handle, call, at);
  abi::cuuint64_t flags = 0;
  check(driver().cuGraphExecGetFlags(exec, &flags), call, subject::graph_exec(exec), at);
  return flags;
}

// Called before an executable is destroyed. After that, the driver may reuse the addresses of its
// memory.
void release_captured_memory(detail::exec_state* state) noexcept {
  if (state != nullptr) state->captured.clear();
}

void destroy_exec(CUgraphExec_st* handle) noexcept {
  detail::first_failure failure;
  {
    const detail::relaxed_capture_mode guard{failure};
    failure.note(driver().cuGraphExecDestroy(handle), "cuGraphExecDestroy");
  }
  report_if_failed(failure, subject::graph_exec(handle));
}

// Returns the completion of work that was just queued. If that fails, the error says that the work
// was queued nevertheless.
completion completion_of_queued(stream_ref stream, const char* operation, call_site at) {
  try {
    return stream.completion(at);
  } catch (const error& e) {
    detail::throw_error(
        e.result(), e.call(), detail::to_text(stream),
        std::string{operation} +
            " has been queued, but its completion cannot be tracked; wait for it with sync() "
            "of the stream",
        at);
  }
}

[[noreturn, gnu::cold]] void fail_enabling(abi::CUresult answer, const char* call, graph_node node,
                                           call_site at) {
  // Does not query the kind of the node for a better message. A GPU's driver may crash if the node
  // was destroyed.
  detail::throw_error(
      static_cast<errc>(answer), call, to_string(node),
      "the node cannot be disabled; use kernels, copies and fills of the graph that "
      "was instantiated",
      at);
}

void set_enabled(CUgraphExec_st* handle, graph_node node, unsigned enabled, call_site at) {
  constexpr const char* call = "cuGraphNodeSetEnabled";
  CUgraphExec_st* const exec = require_open_exec(handle, call, at);
  const abi::CUresult answer =
      driver().cuGraphNodeSetEnabled(exec, detail::require_open(node, call, at), enabled);
  if (answer != abi::CUDA_SUCCESS) fail_enabling(answer, call, node, at);
}

// Returns what weir stores about an executable of the graph; null if there is nothing to store.
std::unique_ptr<detail::exec_state> make_state(CUgraph_st* graph, CUctx_st* context) {
  detail::tag_list tags = detail::get_tags(graph);
  detail::green_state_ref green{detail::acquire_green_state(context)};
  detail::captured_memory_owners captured = detail::get_captured_memory(graph);
  std::vector<detail::memory_reference> used = detail::get_graph_memory(graph);
  if (tags.tags.empty() && green == nullptr && captured.empty() && used.empty()) return nullptr;
  auto state = std::make_unique<detail::exec_state>();
  state->tags = std::move(tags);
  state->green = std::move(green);
  state->captured = std::move(captured);
  state->used = std::move(used);
  return state;
}

}  // namespace

// Rule 135 of docs/internals/rules.md.
void detail::require_valid_options(const instantiate_options& options, const char* call,
                                   subject object, call_site at) {
  if (!options.auto_free_on_launch || !options.device_launch) return;
  throw_error(errc::invalid_value, call, to_text(object),
              "a graph that the device launches cannot free memory on launch; choose one of "
              "auto_free_on_launch and device_launch",
              at);
}

graph_exec graph_exec::make(graph_ref source, CUctx_st* context, unsigned flags,
                            std::optional<stream_ref> upload_in, call_site at) {
  CUgraph_st* const handle = require_not_capturing(source, instantiate_call, at);
  abi::CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags = flags;
  if (upload_in) {
    params.flags |= abi::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    params.hUploadStream = detail::require_launch_stream(*upload_in, "cuGraphUpload", at);
  }
  if (context == nullptr) context = detail::current_or_primary_context(at);
  const detail::make_current current{context, at};
  const detail::relaxed_capture_mode guard{at};
  std::unique_ptr<detail::exec_state> state = make_state(handle, context);
  abi::CUgraphExec created = nullptr;
  const abi::CUresult answer = driver().cuGraphInstantiateWithParams(&created, handle, &params);
  if (answer != abi::CUDA_SUCCESS) detail::fail_instantiation(answer, params, source, at);
  graph_exec exec{created, context, flags};
  exec.state_ = state.release();
  return exec;
}

graph_exec graph_ref::instantiate(instantiate_options options, call_site at) const {
  detail::require_valid_options(options, instantiate_call, subject::graph(get()), at);
  return graph_exec::make(*this, nullptr, flags_of(options), options.upload_in, at);
}

graph_exec graph::instantiate(instantiate_options options, call_site at) const {
  detail::require_valid_options(options, instantiate_call, subject::graph(get()), at);
  return graph_exec::make(*this, context_, flags_of(options), options.upload_in, at);
}

graph_exec graph_exec::adopt(CUgraphExec_st* handle, call_site at) {
  constexpr const char* call = "weir::graph_exec::adopt";
  require_open_exec(handle, call, at);
  if (handle == nullptr)
    detail::throw_error(errc::invalid_handle, call, "null",
                        "the executable graph is null; pass an existing one", at);
  // The conversions drop flags that instantiate_options cannot express.
  return graph_exec{handle, nullptr, flags_of(options_from(query_flags(handle, at)))};
}

graph_exec& graph_exec::operator=(graph_exec&& other) noexcept {
  graph_exec replacement{std::move(other)};
  std::swap(handle_, replacement.handle_);
  std::swap(context_, replacement.context_);
  std::swap(flags_, replacement.flags_);
  std::swap(state_, replacement.state_);
  return *this;
}

graph_exec::~graph_exec() {
  if (closed()) return;
  detail::destroy_or_defer([handle = handle_, state = state_] {
    release_captured_memory(state);
    destroy_exec(handle);
    delete state;
  });
}

void graph_exec::launch(stream_ref stream, call_site at) const {
  constexpr const char* call = "cuGraphLaunch";
  CUgraphExec_st* const exec = detail::require_open_exec(handle_, call, at);
  CUstream_st* const launch_stream = detail::require_launch_stream(stream, call, at);
  if (state_ == nullptr || !state_->tracks_launches()) [[likely]] {
    detail::check(detail::driver().cuGraphLaunch(exec, launch_stream), call, stream, at);
    return;
  }
  // Tracks the launch first, because the launch must not happen if memory runs out. After a failed
  // launch the entry counts as done.
  const bool must_mark_end = state_->track_launch(stream, at);
  detail::check(detail::driver().cuGraphLaunch(exec, launch_stream), call, stream, at);
  if (must_mark_end) state_->mark_launch_end(stream, at);
}

void graph_exec::upload(stream_ref stream, call_site at) const {
  CUgraphExec_st* const exec = detail::require_open_exec(handle_, "cuGraphUpload", at);
  detail::check(detail::driver().cuGraphUpload(
                    exec, detail::require_launch_stream(stream, "cuGraphUpload", at)),
                "cuGraphUpload", stream, at);
}

completion graph_exec::launch_with_completion(stream_ref stream, call_site at) const {
  constexpr const char* call = "weir::graph_exec::launch_with_completion";
  detail::prepare_completion(stream, call, at);
  launch(stream, at);
  return completion_of_queued(stream, "the launch", at);
}

completion graph_exec::upload_with_completion(stream_ref stream, call_site at) const {
  constexpr const char* call = "weir::graph_exec::upload_with_completion";
  detail::prepare_completion(stream, call, at);
  upload(stream, at);
  return completion_of_queued(stream, "the upload", at);
}

graph_update graph_exec::update(graph_ref source, call_site at) {
  constexpr const char* call = "cuGraphExecUpdate";
  CUgraphExec_st* const exec = require_open_exec(handle_, call, at);
  CUgraph_st* const source_graph = require_not_capturing(source, call, at);
  detail::captured_memory_owners captured = detail::get_captured_memory(source_graph);
  std::vector<detail::memory_reference> used = detail::get_graph_memory(source_graph);
  // Allocated first, because the executable must not be updated if memory runs out.
  if (!(captured.empty() && used.empty()) && state_ == nullptr) state_ = new detail::exec_state;
  abi::CUgraphExecUpdateResultInfo info = {};
  const abi::CUresult answer = driver().cuGraphExecUpdate_v2(exec, source_graph, &info);
  if (answer == abi::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
    // The driver may refuse the update without a reason.
    return {info.result == abi::CU_GRAPH_EXEC_UPDATE_SUCCESS
                ? update_reason::other
                : static_cast<update_reason>(info.result),
            graph_node{info.errorNode, source_graph}, graph_node{info.errorFromNode, source_graph}};
  }
  if (answer == abi::CUDA_ERROR_NOT_SUPPORTED) {
    detail::throw_error(
        errc::not_supported, call, to_string(source),
        "a graph with allocations or conditional nodes can have one executable at a "
        "time, and it has another one; close that one, and instantiate",
        at);
  }
  check(answer, call, subject::graph_exec(exec), at);
  if (state_ != nullptr) {
    state_->captured.merge(captured);
    state_->used = std::move(used);
    state_->retire_all();
  }
  return {};
}

graph_update graph_exec::update_or_reinstantiate(graph_ref source, call_site at) {
  const graph_update answer = update(source, at);
  if (!answer) *this = make(source, context_, flags_, std::nullopt, at);
  return answer;
}

instantiate_options graph_exec::options(call_site at) const {
  // The driver does not report the flag of node priorities, so it is taken from `flags_`.
  return options_from(query_flags(handle_, at) |
                      (flags_ & abi::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
}

void graph_exec::disable(graph_node node, call_site at) { set_enabled(handle_, node, 0, at); }
void graph_exec::enable(graph_node node, call_site at) { set_enabled(handle_, node, 1, at); }

bool graph_exec::enabled(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphNodeGetEnabled";
  CUgraphExec_st* const exec = require_open_exec(handle_, call, at);
  unsigned enabled = 0;
  const abi::CUresult answer =
      driver().cuGraphNodeGetEnabled(exec, detail::require_open(node, call, at), &enabled);
  if (answer != abi::CUDA_SUCCESS) fail_enabling(answer, call, node, at);
  return enabled != 0;
}

graph_node graph_exec::find(std::string_view tag, call_site at) const {
  constexpr const char* call = "weir::graph_exec::find";
  require_open_exec(handle_, call, at);
  graph_node found;
  if (state_ == nullptr || tag.empty()) return found;
  const detail::tag_list& list = state_->tags;
  for (const auto& [name, node] : list.tags) {
    if (name != tag) continue;
    if (found)
      detail::throw_error(
          errc::invalid_value, call, "",
          fmt::format("several nodes have the tag \"{}\"; give each node its own tag", tag), at);
    found = graph_node{node, list.graph};
  }
  if (found && !detail::is_present(list, found.get())) {
    detail::throw_error(
        errc::invalid_value, call, "",
        fmt::format(
            "node \"{}\" or its graph was destroyed; keep the graph that was instantiated as "
            "long as its nodes are looked up",
            tag),
        at);
  }
  return found;
}

// Delegates to another constructor. Therefore, if a step throws, the destructor runs and undoes the
// earlier steps.
detail::node_change::node_change(graph_exec& exec, graph_node node, owner_list owners,
                                 const std::vector<region>& memory, call_site at)
    : node_change{exec, node} {
  constexpr const char* call = "cuGraphExecNodeSetParams";
  require_open_exec(exec.handle_, call, at);
  require_open(node, call, at);
  const auto is_present = [](const keep_alive_ref& share) { return static_cast<bool>(share); };
  if (exec.state_ == nullptr &&
      (!memory.empty() || std::any_of(owners.first, owners.first + owners.size, is_present))) {
    exec.state_ = new exec_state;
  }
  if (exec.state_ != nullptr) exec.state_->reserve(node.get(), owners, memory);
  if (exec.context_ != nullptr) pushed_ = push_current(exec.context_, at);
}

detail::node_change::~node_change() {
  if (exec_.state_ != nullptr) exec_.state_->discard_pending();
  if (pushed_) pop_current();
}

void detail::node_change::commit() noexcept {
  if (exec_.state_ != nullptr) exec_.state_->set(node_.get());
}

void graph_exec::close(call_site at) {
  if (closed()) return;
  CUgraphExec_st* const handle = require_open_exec(handle_, "cuGraphExecDestroy", at);
  const detail::relaxed_capture_mode guard{at};
  handle_ = detail::closed_handle<CUgraphExec_st>();
  release_captured_memory(state_);
  const abi::CUresult answer = driver().cuGraphExecDestroy(handle);
  delete std::exchange(state_, nullptr);
  check(answer, "cuGraphExecDestroy", subject::graph_exec(handle), at);
}

CUgraphExec_st* graph_exec::release(call_site at) {
  if (closed()) detail::throw_closed("weir::graph_exec::release", subject::graph_exec(handle_), at);
  if (state_ != nullptr) detail::note_launch(state_->captured);
  // A state with owners is leaked, because weir is not informed when other code destroys the
  // executable.
  detail::exec_state* const state = std::exchange(state_, nullptr);
  if (state != nullptr && !state->has_owners()) delete state;
  return std::exchange(handle_, detail::closed_handle<CUgraphExec_st>());
}

}  // namespace weir
