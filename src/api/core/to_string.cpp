// SPDX-License-Identifier: Apache-2.0
// api/core/to_string.cpp - weir's objects as text.
#include <weir/core/to_string.hpp>

#include <weir/profiler/name.hpp>
#include "api/core/check.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/profiler/names.hpp"
#include "api/stream/stream_state.hpp"
#include "driver/results.hpp"

#include <fmt/format.h>

namespace weir {

std::string to_string(stream_ref stream) {
  CUstream_st* const handle = stream.get();
  if (handle == detail::closed_handle<CUstream_st>()) return "closed stream";
  if (detail::is_default(handle)) {
    const std::string name = name_of(stream);
    return fmt::format("{} default stream{}", detail::is_legacy(handle) ? "legacy" : "per-thread",
                       name.empty() ? name : fmt::format(" \"{}\"", name));
  }
  const auto properties = detail::find_stream_properties(handle);
  const std::string name = detail::quoted_name(stream);
  if (!properties) return fmt::format("stream {}{}", name, fmt::ptr(handle));
  return fmt::format("stream {}{} (device {})", name, fmt::ptr(handle), properties->device);
}

std::string to_string(event_ref event) {
  if (event.get() == detail::closed_handle<CUevent_st>()) return "closed event";
  return fmt::format("event {}{}", detail::quoted_name(event), fmt::ptr(event.get()));
}

std::string to_string(device gpu) {
  const std::string name = name_of(gpu);
  return name.empty() ? fmt::format("device {}", gpu.ordinal())
                      : fmt::format("device {} \"{}\"", gpu.ordinal(), name);
}

std::string to_string(context_ref context) {
  if (!context) return "no context";
  if (context.get() == detail::closed_handle<CUctx_st>()) return "closed context";
  return fmt::format("context {}{}", detail::quoted_name(detail::subject{context.get()}),
                     fmt::ptr(context.get()));
}

std::string to_string(memory_pool_ref pool) {
  if (pool.get() == detail::closed_handle<CUmemPoolHandle_st>()) return "closed memory pool";
  return fmt::format("memory pool {}{} (device {})", detail::quoted_name(pool),
                     fmt::ptr(pool.get()), pool.device().ordinal());
}

std::string to_string(graph_ref graph) {
  if (graph.get() == detail::closed_handle<CUgraph_st>()) return "closed graph";
  return fmt::format("graph {}", fmt::ptr(graph.get()));
}

std::string to_string(graph_node node) {
  if (!node) return "no node";
  const std::string tag = detail::get_tag(node.graph().get(), node.get());
  return tag.empty() ? fmt::format("node {}", fmt::ptr(node.get()))
                     : fmt::format("node \"{}\" {}", tag, fmt::ptr(node.get()));
}

std::string to_string(node_kind kind) { return detail::name_of(kind); }

std::string to_string(errc code) {
  switch (static_cast<int>(code)) {
#define WEIR_RESULT(symbol, value, errc, says) \
  case value:                                  \
    return #errc;
#include "driver/results.def"
#undef WEIR_RESULT
    case static_cast<int>(errc::closed): return "closed";
    case static_cast<int>(errc::not_recorded): return "not_recorded";
    case static_cast<int>(errc::timing_disabled): return "timing_disabled";
    case static_cast<int>(errc::wrong_type): return "wrong_type";
    case static_cast<int>(errc::exhausted): return "exhausted";
    default: return fmt::format("errc {}", static_cast<int>(code));
  }
}

}  // namespace weir
