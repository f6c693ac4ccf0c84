// SPDX-License-Identifier: Apache-2.0
// weir/core/to_string.hpp - weir's objects as text, for logs.
#pragma once

#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/stream.hpp>

#include <string>

namespace weir {

// The to_string() functions of this file make no driver call. They accept closed, moved-from and
// foreign objects, and may be called from any thread. If set_name() (weir/profiler/name.hpp) has
// given the object a name, the text contains it: 'stream "copies" 0x55d0c8 (device 0)'.

/// Returns "stream 0x55d0c8 (device 0)", "legacy default stream", "per-thread default stream" or
/// "closed stream".
[[nodiscard]] WEIR_EXPORT std::string to_string(stream_ref stream);

/// Returns "event 0x55d0c8" or "closed event".
[[nodiscard]] WEIR_EXPORT std::string to_string(event_ref event);

/// Returns "device 0".
[[nodiscard]] WEIR_EXPORT std::string to_string(device gpu);

/// Returns "context 0x55d0c8" or "no context".
[[nodiscard]] WEIR_EXPORT std::string to_string(context_ref context);

/// Returns "memory pool 0x55d0c8 (device 0)" or "closed memory pool".
[[nodiscard]] WEIR_EXPORT std::string to_string(memory_pool_ref pool);

/// Returns "graph 0x55d0c8" or "closed graph".
[[nodiscard]] WEIR_EXPORT std::string to_string(graph_ref graph);

/// Returns "node 0x55d0c8", 'node "scale" 0x55d0c8' if the node has a tag, or "no node".
[[nodiscard]] WEIR_EXPORT std::string to_string(graph_node node);
/// Returns the kind of a graph node in words: "fill", "host function".
[[nodiscard]] WEIR_EXPORT std::string to_string(node_kind kind);

/// Returns weir's name of the code, "out_of_memory", or "errc 4711" for a number without a name.
[[nodiscard]] WEIR_EXPORT std::string to_string(errc code);

}  // namespace weir
