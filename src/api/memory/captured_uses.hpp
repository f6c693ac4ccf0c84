// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_uses.hpp - the memory of weir that graphs use.
#pragma once

#include "api/capture/capture_checks.hpp"
#include "api/memory/memory_record.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/memory/copy.hpp>

#include <set>
#include <span>
#include <vector>

namespace weir::detail {

// A graph refers to the records of the memory that its captured operations and its nodes use
// (graph_metadata). An executable takes over the references, and each launch registers its stream
// in the records. So the free of the memory waits for the launch. Memory that has ended is skipped.
using used_memory = std::set<memory_reference>;

// Called while a capture is open, before an operation that uses `memory` is queued in `stream`. If
// the stream is captured, notes the memory for the graph. Cheap if the thread has noted it already.
void note_captured_use(const tracked_memory& memory, abi::CUstream stream, call_site at);
// Returns true if note_captured_use() would do nothing, because the thread has noted the memory.
[[nodiscard]] bool is_noted(const tracked_memory& memory, abi::CUstream stream) noexcept;

// Returns true if note_captured_use() has to be called.
[[nodiscard]] inline bool must_be_noted(const tracked_memory& memory,
                                        abi::CUstream stream) noexcept {
  return active_capture_count.load(std::memory_order_relaxed) != 0 && !is_noted(memory, stream);
}

// Returns references to the memory of weir in these regions, found by its owner or its address.
[[nodiscard]] std::vector<memory_reference> references_to(std::span<const region> regions);
// Notes the memory that a node of the graph uses.
void note_graph_memory(abi::CUgraph graph, std::span<const region> regions);
// Returns the memory that the graph and its subgraphs use.
[[nodiscard]] std::vector<memory_reference> get_graph_memory(abi::CUgraph graph);
// Makes `copy` refer to the memory that `original` uses, without its subgraphs.
void copy_graph_memory(abi::CUgraph original, abi::CUgraph copy);

}  // namespace weir::detail
