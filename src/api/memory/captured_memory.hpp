// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_memory.hpp - memory allocated in a capture whose buffer outlives the capture.
#pragma once

#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace weir::detail {

// The memory exists from a launch of the graph until it is freed. The driver reports whether it
// exists: freeing memory that does not is a harmless error while the graph or an executable owns
// the address. Later another graph may get the address, and the free would hit its memory. So weir
// notes which captures were discarded, and which graphs were destroyed, with all their executables,
// before any launch. Their memory is never freed. Once other code has a graph, weir cannot track
// its launches and relies on the driver's answer. Entries are keyed by the ids of captures, which
// are never reused.
// Thread safety: all may be called from any thread.

// The number of captures that have a buffer. Usually 0, so the check costs one load.
inline constinit std::atomic<int> captures_with_memory{0};
[[nodiscard]] inline bool any_captured_memory() noexcept {
  return captures_with_memory.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Adds or removes one buffer of that capture. add_captured_memory() may throw bad_alloc.
void add_captured_memory(unsigned long long capture);
void remove_captured_memory(unsigned long long capture) noexcept;
// Returns true if a launch may have allocated the memory, so that a free may succeed.
[[nodiscard]] bool may_be_allocated(unsigned long long capture) noexcept;

// Records that the capture has ended with this graph, or without a graph.
void note_captured_graph(unsigned long long capture, abi::CUgraph graph) noexcept;
void note_nothing_captured(unsigned long long capture) noexcept;
// Records that the graph was destroyed, has become part of another graph, or was released to other
// code.
void note_graph_destroyed(abi::CUgraph graph) noexcept;
void note_graph_moved(abi::CUgraph graph, abi::CUgraph new_parent) noexcept;
void note_graph_released(abi::CUgraph graph) noexcept;

// An executable's references to the captured memory of the graph and the child graphs from which it
// was instantiated.
class captured_memory_use {
 public:
  captured_memory_use() = default;
  captured_memory_use(const captured_memory_use&) = delete;
  captured_memory_use& operator=(const captured_memory_use&) = delete;
  ~captured_memory_use() { release_all(); }

  // Adds the captures of that graph. Returns how many were added. If it throws bad_alloc, nothing
  // has changed.
  std::size_t add(abi::CUgraph graph);
  // Removes the `count` captures added last.
  void release(std::size_t count) noexcept;
  void release_all() noexcept { release(captures_.size()); }
  [[nodiscard]] bool empty() const noexcept { return captures_.empty(); }
  // Notes that the executable is launched, or that other code may launch it. From then on the
  // memory may exist.
  void track_launch() const noexcept;

 private:
  std::vector<unsigned long long> captures_;
};

}  // namespace weir::detail
