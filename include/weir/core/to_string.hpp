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

// None of these makes a driver call, and all work on closed, moved-from and foreign objects. Thread
// safety: from any thread. What has a name (name.hpp) shows it: 'stream "copies" 0x55d0c8 (device
// 0)'.

// "stream 0x55d0c8 (device 0)", "legacy default stream", "per-thread default stream", "closed
// stream".
[[nodiscard]] WEIR_EXPORT std::string to_string(stream_ref stream);
[[nodiscard]] inline std::string to_string(const stream& owner) { return to_string(owner.ref()); }

// "event 0x55d0c8", "closed event".
[[nodiscard]] WEIR_EXPORT std::string to_string(event_ref event);
[[nodiscard]] inline std::string to_string(const event& owner) { return to_string(owner.ref()); }
[[nodiscard]] inline std::string to_string(timed_event_ref event) {
  return to_string(event_ref{event});
}
[[nodiscard]] inline std::string to_string(const timed_event& owner) {
  return to_string(event_ref{owner});
}

// "device 0".
[[nodiscard]] WEIR_EXPORT std::string to_string(device gpu);

// "context 0x55d0c8", "no context".
[[nodiscard]] WEIR_EXPORT std::string to_string(context_ref context);

// "memory pool 0x55d0c8 (device 0)", "closed memory pool".
[[nodiscard]] WEIR_EXPORT std::string to_string(memory_pool_ref pool);
[[nodiscard]] inline std::string to_string(const memory_pool& owner) {
  return to_string(owner.ref());
}

// "graph 0x55d0c8", "closed graph".
[[nodiscard]] WEIR_EXPORT std::string to_string(graph_ref graph);
[[nodiscard]] inline std::string to_string(const graph& owner) { return to_string(owner.ref()); }

// "node 0x55d0c8", 'node "scale" 0x55d0c8' if it has a tag, "no node".
[[nodiscard]] WEIR_EXPORT std::string to_string(graph_node node);
// "fill", "host function".
[[nodiscard]] WEIR_EXPORT std::string to_string(node_kind kind);

// The name in weir: "out_of_memory"; "errc 4711" for a number without one.
[[nodiscard]] WEIR_EXPORT std::string to_string(errc code);

}  // namespace weir
