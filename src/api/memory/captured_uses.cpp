// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_uses.cpp - the memory of weir that graphs use.
#include "api/memory/captured_uses.hpp"

#include "api/capture/capture_query.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/memory/operand.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::detail {
namespace {

// A use that this thread has noted for the graph of an open capture. It is out of date when a
// capture has begun or ended since, because the stream may then be in another capture.
struct noted_use {
  const tracked_memory* memory;
  CUstream stream;
  unsigned long long changes;  // capture_change_count
};

constexpr std::size_t noted_count = 4;
thread_local constinit noted_use noted_uses[noted_count] = {};

noted_use& slot_of(const tracked_memory& memory) noexcept {
  return noted_uses[reinterpret_cast<std::uintptr_t>(&memory) / 64 % noted_count];
}

void insert(graph_metadata& metadata, std::vector<memory_reference> used) {
  const auto has_ended = [](const memory_reference& each) { return each->closed(); };
  for (memory_reference& each : used) {
    metadata.sweep_of_used.before_insertion(metadata.used, has_ended);
    metadata.used.insert(std::move(each));
  }
}

void add_to_graph(CUgraph graph, std::vector<memory_reference> used) {
  if (used.empty()) return;
  const locked_metadata_store store;
  store->sweep();
  insert(store->graphs[graph], std::move(used));
  store->update_count();
}

}  // namespace

bool is_noted(const tracked_memory& memory, CUstream stream) noexcept {
  const noted_use& slot = slot_of(memory);
  return slot.memory == &memory && slot.stream == stream &&
         slot.changes == capture_change_count.load(std::memory_order_relaxed);
}

void note_captured_use(const tracked_memory& memory, CUstream stream, call_site at) {
  if (is_noted(memory, stream)) return;
  const unsigned long long changes = capture_change_count.load(std::memory_order_relaxed);
  stream_capture_info capture;
  const CUresult answer = try_query_capture(stream, capture);
  // The legacy default stream cannot be queried now, and is in no capture. The operation itself
  // reports that.
  if (answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return;
  check(answer, "cuStreamGetCaptureInfo", stream_ref{stream}, at);
  if (capture.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  if (std::optional<memory_reference> used = memory_reference::to(memory))
    add_to_graph(capture.graph, {*used});
  slot_of(memory) = {&memory, stream, changes};
}

std::vector<memory_reference> references_to(std::span<const region> regions) {
  std::vector<memory_reference> used;
  for (const region& each : regions) {
    const tracked_memory* const owner = owner_of(each);
    if (owner == nullptr) continue;
    if (std::optional<memory_reference> reference = memory_reference::to(*owner))
      used.push_back(*reference);
  }
  return used;
}

void note_graph_memory(CUgraph graph, std::span<const region> regions) {
  add_to_graph(graph, references_to(regions));
}

std::vector<memory_reference> get_graph_memory(CUgraph graph) {
  std::vector<memory_reference> used;
  if (!any_graph_metadata()) return used;
  const locked_metadata_store store;
  store->visit_parts(graph, [&](const graph_metadata& metadata) {
    for (const memory_reference& each : metadata.used) {
      if (!each->closed()) used.push_back(each);
    }
  });
  return used;
}

void copy_graph_memory(CUgraph original, CUgraph copy) {
  if (!any_graph_metadata()) return;
  const locked_metadata_store store;
  const graph_metadata* const source = store->find(original);
  if (source == nullptr || source->used.empty()) return;
  insert(store->graphs[copy], {source->used.begin(), source->used.end()});
  store->update_count();
}

}  // namespace weir::detail
