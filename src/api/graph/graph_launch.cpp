// api/graph/graph_launch.cpp - executable graphs in streams: launched, uploaded, and the ends of
// that.
#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/graph/graph_exec.hpp>

#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "api/graph/exec_state.hpp"
#include "api/graph/graph_checks.hpp"

#include <string>

namespace weir {
namespace {

// Of what has been queued just now: an error tells that, too.
completion completion_of_queued(stream_ref stream, const char* what, call_site at) {
  try {
    return stream.completion(at);
  } catch (const error& e) {
    detail::throw_error(
        e.result(), e.call(), detail::to_text(stream),
        std::string{what} +
            " has been queued, but its end cannot be noted: sync() of the stream waits for it",
        at);
  }
}

}  // namespace

void graph_exec::launch(stream_ref stream, call_site at) const {
  constexpr const char* call = "cuGraphLaunch";
  CUgraphExec_st* const exec = detail::require_open_exec(handle_, call, at);
  CUstream_st* const in = detail::require_launch_stream(stream, call, at);
  if (state_ == nullptr || !state_->tracks_launches()) [[likely]] {
    detail::check(detail::driver().cuGraphLaunch(exec, in), call, stream, at);
    return;
  }
  const bool to_mark = state_->track_launch(stream, at);
  detail::check(detail::driver().cuGraphLaunch(exec, in), call, stream, at);
  if (to_mark) state_->mark_launch_end(stream, at);
}

void graph_exec::upload(stream_ref stream, call_site at) const {
  CUgraphExec_st* const exec = detail::require_open_exec(handle_, "cuGraphUpload", at);
  detail::check(detail::driver().cuGraphUpload(
                    exec, detail::require_launch_stream(stream, "cuGraphUpload", at)),
                "cuGraphUpload", stream, at);
}

completion graph_exec::launch_async(stream_ref stream, call_site at) const {
  constexpr const char* call = "weir::graph_exec::launch_async";
  detail::prepare_completion(stream, call, at);
  launch(stream, at);
  return completion_of_queued(stream, "the launch", at);
}

completion graph_exec::upload_async(stream_ref stream, call_site at) const {
  constexpr const char* call = "weir::graph_exec::upload_async";
  detail::prepare_completion(stream, call, at);
  upload(stream, at);
  return completion_of_queued(stream, "the upload", at);
}

}  // namespace weir
