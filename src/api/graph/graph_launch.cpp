// api/graph/graph_launch.cpp - executable graphs in streams: launched, uploaded, and the ends of that.
#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/graph/graph_exec.hpp>

#include "api/core/check.hpp"
#include "api/completion/completion_access.hpp"
#include "api/graph/exec_state.hpp"
#include "api/graph/graph_use.hpp"

#include <string>

namespace weir {
namespace {

// Of what has been queued just now: an error tells that, too.
completion end_of_queued(stream_ref stream, const char* what, call_site at) {
  try {
    return stream.completion(at);
  } catch (const error& e) {
    detail::fail(e.result(), e.call(), detail::to_text(stream),
                 std::string{what} + " has been queued, but its end cannot be noted: sync() of the stream waits for it",
                 at);
  }
}

}  // namespace

void graph_exec::launch(stream_ref stream, call_site at) const {
  constexpr const char* call = "cuGraphLaunch";
  CUgraphExec_st* const exec = detail::usable_exec(handle_, call, at);
  CUstream_st* const in = detail::launchable(stream, call, at);
  if (state_ == nullptr || !state_->minds_launches()) [[likely]] {
    detail::check(detail::driver().cuGraphLaunch(exec, in), call, stream, at);
    return;
  }
  const bool to_mark = state_->note_launch(stream, at);
  detail::check(detail::driver().cuGraphLaunch(exec, in), call, stream, at);
  if (to_mark) state_->mark_launch(stream, at);
}

void graph_exec::upload(stream_ref stream, call_site at) const {
  CUgraphExec_st* const exec = detail::usable_exec(handle_, "cuGraphUpload", at);
  detail::check(detail::driver().cuGraphUpload(exec, detail::launchable(stream, "cuGraphUpload", at)), "cuGraphUpload",
                stream, at);
}

completion graph_exec::launch_async(stream_ref stream, call_site at) const {
  constexpr const char* call = "weir::graph_exec::launch_async";
  detail::prepare_completion(stream, call, at);
  launch(stream, at);
  return end_of_queued(stream, "the launch", at);
}

completion graph_exec::upload_async(stream_ref stream, call_site at) const {
  constexpr const char* call = "weir::graph_exec::upload_async";
  detail::prepare_completion(stream, call, at);
  upload(stream, at);
  return end_of_queued(stream, "the upload", at);
}

}  // namespace weir
