// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_memory.hpp - memory allocated in a capture whose buffer outlives the capture.
#pragma once

#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace weir::detail {

// Memory that a capture has allocated exists from a launch of the captured graph until it is freed.
// The driver reports whether it exists: a free of memory that does not exist is a harmless error
// while the graph or an executable owns the address.
//
// After that, the driver may give the address to another graph, and a free would release the memory
// of that graph. Therefore weir records the captures whose memory never existed: the capture was
// discarded, or the graph and all its executables were destroyed without a launch. Memory of these
// captures is never freed.
//
// If a graph is released to other code, weir cannot track its launches, and relies on the driver's
// answer. Entries are stored by the id of the capture, which is never reused.
//
// Thread safety: all functions may be called from any thread.

// Number of captures whose memory belongs to an existing buffer. While it is 0, as is usual, a
// check costs one load.
inline constinit std::atomic<int> captures_with_memory{0};
[[nodiscard]] inline bool any_captured_memory() noexcept {
  return captures_with_memory.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Counts one more buffer whose memory is allocated in that capture. Throws std::bad_alloc.
void add_captured_memory(unsigned long long capture);
// Counts one buffer of that capture less.
void remove_captured_memory(unsigned long long capture) noexcept;
// Returns false if no launch can ever have allocated the memory, so that it must not be freed.
// Otherwise returns true.
[[nodiscard]] bool may_be_allocated(unsigned long long capture) noexcept;

// Records that the capture has ended and that its allocations are in `graph`.
void note_captured_graph(unsigned long long capture, abi::CUgraph graph) noexcept;
// Records that the capture has ended without a graph.
void note_nothing_captured(unsigned long long capture) noexcept;
// Records that the graph was destroyed: its captured memory is free once no executable uses it.
void note_captured_graph_destroyed(abi::CUgraph graph) noexcept;
// Records that the graph has become a child graph of `new_parent`.
void note_captured_graph_moved(abi::CUgraph graph, abi::CUgraph new_parent) noexcept;
// Records that the graph was released to other code, which may launch it.
void note_captured_graph_released(abi::CUgraph graph) noexcept;

// References of an executable to the captured memory of the graph from which it was instantiated,
// and of the subgraphs.
class captured_memory_use {
 public:
  captured_memory_use() = default;
  captured_memory_use(const captured_memory_use&) = delete;
  captured_memory_use& operator=(const captured_memory_use&) = delete;
  ~captured_memory_use() { release_all(); }

  // Adds references to the captures whose memory `graph` allocates. Returns the number of added
  // references. If it throws std::bad_alloc, nothing has changed.
  std::size_t add(abi::CUgraph graph);
  // Releases the last `count` references.
  void release(std::size_t count) noexcept;
  void release_all() noexcept { release(captures_.size()); }
  [[nodiscard]] bool empty() const noexcept { return captures_.empty(); }
  // Called before the executable is launched, or released to other code that may launch it. Records
  // that the memory may exist from now on.
  void track_launch() const noexcept;

 private:
  std::vector<unsigned long long> captures_;
};

}  // namespace weir::detail
