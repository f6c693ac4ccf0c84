// api/graph/graph_exec.cpp - executable graphs: made, launched, updated, given up.
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/core/to_string.hpp>

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/graph/exec_state.hpp"
#include "api/core/first_failure.hpp"
#include "api/graph/graph_use.hpp"
#include "api/device/green_state.hpp"
#include "api/graph/instantiation_failure.hpp"
#include "api/device/make_current.hpp"
#include "api/graph/node_notes.hpp"
#include "api/device/primary_context.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/capture/relaxed_captures.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::finished;
using detail::subject;
using detail::usable_exec;

namespace {

constexpr const char* instantiate_call = "cuGraphInstantiateWithParams";

unsigned flags_of(const instantiate_options& options) noexcept {
  return (options.auto_free_on_launch ? abi::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH : 0u) |
         (options.device_launch ? abi::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH : 0u) |
         (options.node_priorities ? abi::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0u);
}

// Rule 135, in words.
void check_options(const instantiate_options& options, graph_ref on, call_site at) {
  if (options.auto_free_on_launch && options.device_launch) {
    detail::fail(errc::invalid_value, instantiate_call, to_string(on),
                 "a graph that the device launches cannot free on launch; choose one of the two", at);
  }
}

// Before the driver gives the addresses to others.
void give_up_memory(detail::exec_state* state) noexcept {
  if (state != nullptr) state->captured.drop_all();
}

void destroy(CUgraphExec_st* handle) noexcept {
  detail::first_failure failure;
  {
    const detail::relaxed_captures unharmed{failure};
    failure.note(driver().cuGraphExecDestroy(handle), "cuGraphExecDestroy");
  }
  check_unraised(failure, subject::graph_exec(handle));
}

}  // namespace

graph_exec graph_exec::make(graph_ref source, CUctx_st* context, unsigned flags, std::optional<stream_ref> upload_in,
                            call_site at) {
  CUgraph_st* const handle = finished(source, instantiate_call, at);
  abi::CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags = flags;
  if (upload_in) {
    params.flags |= abi::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    params.hUploadStream = detail::launchable(*upload_in, "cuGraphUpload", at);
  }
  if (context == nullptr) context = detail::current_handle(at);
  if (context == nullptr) context = detail::primary_context(device{}, at);
  const detail::make_current current{context, at};
  const detail::relaxed_captures unharmed{at};
  struct end_state {
    void operator()(detail::exec_state* unused) const noexcept { detail::exec_state::end(unused); }
  };
  std::unique_ptr<detail::exec_state, end_state> state;
  if (detail::tag_list tags = detail::noted_tags(handle); !tags.tags.empty()) {
    state.reset(new detail::exec_state);
    state->tags = std::move(tags);
  }
  if (detail::is_green(context)) {
    if (state == nullptr) state.reset(new detail::exec_state);
    if (detail::green_state* const share = detail::hold_green(context)) state->keep_green(*share);
  }
  if (detail::any_captured_memory()) [[unlikely]] {
    if (state == nullptr) state.reset(new detail::exec_state);
    state->captured.add(handle);
  }
  abi::CUgraphExec made = nullptr;
  const abi::CUresult answer = driver().cuGraphInstantiateWithParams(&made, handle, &params);
  if (answer != abi::CUDA_SUCCESS) detail::fail_instantiation(answer, params, source, at);
  graph_exec exec{made, context, flags};
  exec.state_ = state.release();
  return exec;
}

graph_exec graph_ref::instantiate(instantiate_options options, call_site at) const {
  check_options(options, *this, at);
  return graph_exec::make(*this, nullptr, flags_of(options), options.upload_in, at);
}

graph_exec graph::instantiate(instantiate_options options, call_site at) const {
  check_options(options, ref(), at);
  return graph_exec::make(ref(), context_, flags_of(options), options.upload_in, at);
}

graph_exec graph_exec::adopt(CUgraphExec_st* handle, call_site at) {
  constexpr const char* call = "weir::graph_exec::adopt";
  usable_exec(handle, call, at);
  if (handle == nullptr) detail::fail(errc::invalid_handle, call, "null", "there is no executable to take over", at);
  graph_exec adopted{handle, nullptr, 0};
  try {
    adopted.flags_ = flags_of(adopted.options(at));
  } catch (...) {
    static_cast<void>(adopted.release(at));
    throw;
  }
  return adopted;
}

graph_exec& graph_exec::operator=(graph_exec&& other) noexcept {
  graph_exec taken{std::move(other)};
  std::swap(handle_, taken.handle_);
  std::swap(context_, taken.context_);
  std::swap(flags_, taken.flags_);
  std::swap(state_, taken.state_);
  return *this;
}

graph_exec::~graph_exec() {
  if (closed()) return;
  detail::destroy_or_leave([handle = handle_, state = state_] {
    give_up_memory(state);
    destroy(handle);
    detail::exec_state::end(state);
  });
}

graph_update graph_exec::update(graph_ref source, call_site at) {
  constexpr const char* call = "cuGraphExecUpdate";
  CUgraphExec_st* const exec = usable_exec(handle_, call, at);
  CUgraph_st* const from = finished(source, call, at);
  std::size_t shared = 0;
  if (detail::any_captured_memory()) [[unlikely]] {
    if (state_ == nullptr) state_ = new detail::exec_state;
    shared = state_->captured.add(from);
  }
  abi::CUgraphExecUpdateResultInfo info = {};
  const abi::CUresult answer = driver().cuGraphExecUpdate_v2(exec, from, &info);
  if (answer != abi::CUDA_SUCCESS && shared != 0) state_->captured.drop(shared);
  if (answer == abi::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
    return {info.result == abi::CU_GRAPH_EXEC_UPDATE_SUCCESS ? update_reason::other
                                                             : static_cast<update_reason>(info.result),
            graph_node{info.errorNode, from}, graph_node{info.errorFromNode, from}};
  }
  if (answer == abi::CUDA_ERROR_NOT_SUPPORTED) {
    detail::fail(
        errc::not_supported, call, to_string(source),
        "a graph that allocates or has conditional nodes has one executable at a time, and this is not it; close "
        "that, and instantiate",
        at);
  }
  check(answer, call, subject::graph_exec(exec), at);
  if (state_ != nullptr) state_->retire_all();
  return {};
}

graph_update graph_exec::update_or_reinstantiate(graph_ref source, call_site at) {
  const graph_update answer = update(source, at);
  if (!answer) *this = make(source, context_, flags_, std::nullopt, at);
  return answer;
}

instantiate_options graph_exec::options(call_site at) const {
  constexpr const char* call = "cuGraphExecGetFlags";
  CUgraphExec_st* const exec = usable_exec(handle_, call, at);
  abi::cuuint64_t flags = 0;
  check(driver().cuGraphExecGetFlags(exec, &flags), call, subject::graph_exec(exec), at);
  instantiate_options options;
  options.auto_free_on_launch = (flags & abi::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  options.device_launch = (flags & abi::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0;
  options.node_priorities = ((flags | flags_) & abi::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  return options;
}

void graph_exec::close(call_site at) {
  if (closed()) return;
  CUgraphExec_st* const handle = usable_exec(handle_, "cuGraphExecDestroy", at);
  const detail::relaxed_captures unharmed{at};
  handle_ = detail::closed_handle<CUgraphExec_st>();
  give_up_memory(state_);
  const abi::CUresult answer = driver().cuGraphExecDestroy(handle);
  detail::exec_state::end(std::exchange(state_, nullptr));
  check(answer, "cuGraphExecDestroy", subject::graph_exec(handle), at);
}

CUgraphExec_st* graph_exec::release(call_site at) {
  if (closed()) detail::fail_closed("weir::graph_exec::release", subject::graph_exec(handle_), at);
  if (state_ != nullptr) state_->captured.note_launch();
  // What it keeps is kept for good: nobody tells when the executable is gone.
  if (detail::exec_state* const state = std::exchange(state_, nullptr); state != nullptr && !state->keeps()) {
    detail::exec_state::end(state);
  }
  return std::exchange(handle_, detail::closed_handle<CUgraphExec_st>());
}

}  // namespace weir
