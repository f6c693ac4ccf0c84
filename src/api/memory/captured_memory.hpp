// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_memory.hpp - memory allocated in a capture whose buffer outlives the capture.
#pragma once

#include "api/memory/pending_uses.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>
#include <memory>
#include <set>
#include <utility>

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
// answer.
//
// Thread safety: all functions may be called from any thread.

// The allocations of one capture. Shared by its buffers and the owners of its graph.
struct captured_allocations {
  captured_allocations() = default;
  captured_allocations(const captured_allocations&) = delete;
  captured_allocations& operator=(const captured_allocations&) = delete;
  ~captured_allocations();

  std::atomic<bool> launched{false};  // true if a launch has been possible, by weir or other code
  std::atomic<bool> never_existed{false};  // true if no launch was or will be possible
  // The streams of launches through weir. Shared with the reclaimer thread, which releases them.
  std::shared_ptr<pending_uses> launches = std::make_shared<pending_uses>();
};

// The number of existing owners. It is mostly 0, so that a lookup costs one load.
inline constinit std::atomic<int> captured_memory_owner_count{0};

// Held by the captured graph (graph_metadata) and by its executables (exec_state). weir releases it
// before it destroys the graph or executable, so before the driver may reuse the addresses. If the
// driver or other code destroys the graph, mark_destroyed() or the graph's user object releases it
// afterwards.
struct captured_memory_owner {
  explicit captured_memory_owner(std::shared_ptr<captured_allocations> captured) noexcept
      : allocations{std::move(captured)} {
    captured_memory_owner_count.fetch_add(1, std::memory_order_relaxed);
  }
  captured_memory_owner(const captured_memory_owner&) = delete;
  captured_memory_owner& operator=(const captured_memory_owner&) = delete;
  ~captured_memory_owner() {
    if (!allocations->launched) allocations->never_existed = true;
    captured_memory_owner_count.fetch_sub(1, std::memory_order_relaxed);
  }

  std::shared_ptr<captured_allocations> allocations;
};
// One owner for each capture, because several captures may have recorded into a graph.
using captured_memory_owners = std::set<std::shared_ptr<captured_memory_owner>>;

// Returns true if all buffers of these owners were destroyed.
[[nodiscard]] bool has_no_buffer(const captured_memory_owners& owners) noexcept;

// Called before an executable with these owners is launched, or released to other code that may
// launch it.
inline void note_launch(const captured_memory_owners& owners) noexcept {
  for (const auto& owner : owners) owner->allocations->launched = true;
}
// Called before an executable with these owners is launched in `stream`. The free of a buffer then
// waits for the launch. Returns true if `launches` must record the stream after the launch.
[[nodiscard]] bool note_launch(const captured_memory_owners& owners, abi::CUstream stream,
                               call_site at);

// The data that a buffer stores about the capture in which its memory was allocated.
struct captured_memory {
  [[nodiscard]] bool never_existed() const noexcept { return allocations->never_existed; }

  unsigned long long id;  // of the capture
  std::shared_ptr<captured_allocations> allocations;
};

// Called before memory is allocated in `stream`. Returns null if the stream is in no valid capture.
// Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<captured_memory> captured_memory_in(abi::CUstream stream);

// Called when the capture with this id has ended and its allocations are in `graph`. Does nothing
// if all its buffers were destroyed in the capture.
void own_captured_memory(unsigned long long capture, abi::CUgraph graph) noexcept;
// Called when the capture has ended and its graph was destroyed or is about to be destroyed.
void note_never_existed(unsigned long long capture) noexcept;

// Returns the owners of the memory that the graph and its subgraphs allocate. Throws
// std::bad_alloc.
[[nodiscard]] captured_memory_owners get_captured_memory(abi::CUgraph graph);

// Returns true if a capture that has ended recorded the allocation of this memory into `graph`.
[[nodiscard]] bool allocates_in(abi::CUgraph graph, const captured_memory& memory) noexcept;

// Called before the graph is released to other code that may launch it. Notes a launch, and removes
// the owners and the memory that it uses from the metadata of the graph and its subgraphs.
void disown_captured_memory(abi::CUgraph graph) noexcept;

}  // namespace weir::detail
