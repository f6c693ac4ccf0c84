// weir/capture/capture_exec.hpp - recording straight into an executable.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/stream/stream.hpp>

#include <utility>

namespace weir {

// capture() and instantiate() in one: runs the body and gives the executable of what it recorded,
// in the context of the stream. The graph itself is gone then: another capture updates the
// executable as a whole, exec.update(capture(s, body)), while for changes node by node (exec.set)
// the graph has to be there, and capture() is the way. Fails as either does.
template <detail::capture_body Body>
[[nodiscard]] graph_exec capture_exec(stream_ref stream, Body&& body,
                                      instantiate_options executable = {},
                                      capture_options options = {},
                                      call_site at = call_site::current()) {
  return capture(stream, std::forward<Body>(body), options, at).instantiate(executable, at);
}

}  // namespace weir
