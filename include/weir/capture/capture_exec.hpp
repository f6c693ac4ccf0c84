// SPDX-License-Identifier: Apache-2.0
// weir/capture/capture_exec.hpp - captures and instantiates in one call.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/stream/stream.hpp>

#include <utility>

namespace weir {

/// Runs a body, and returns an executable of the operations that it recorded, instantiated in the
/// context of the stream: capture() and instantiate() in one call. The graph is destroyed. To
/// change the executable as a whole, capture again and update it: exec.update(capture(s, body)).
/// Use capture() instead if the program will change single nodes with graph_exec::set(), which
/// needs the graph.
///
/// Throws: as capture() and graph_ref::instantiate().
template <detail::capture_body Body>
[[nodiscard]] graph_exec capture_exec(stream_ref stream, Body&& body,
                                      instantiate_options executable = {},
                                      capture_options options = {},
                                      call_site at = call_site::current()) {
  return capture(stream, std::forward<Body>(body), options, at).instantiate(executable, at);
}

}  // namespace weir
