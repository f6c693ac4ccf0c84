// api/memory/captured_memory.hpp - what becomes of memory that a capture has made when its buffer
// outlives the capture.
#pragma once

#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace weir::detail {

// The memory is there from a launch of the graph on, until it is freed. Whether it is just now the
// driver knows: freeing what is not is an error without harm, for as long as the graph or an
// executable has the address. After that another graph may get it, and the free would hit that
// one's memory. So it is noted which captures came to nothing, and which graphs went, with all that
// was made of them, before anything was launched: of those nothing is ever freed. What others than
// weir do with a graph is not known; of one that they got the driver is asked. By the ids of
// captures, which are never given out again. Thread safety: any of it from any thread.

// How many captures have a buffer that is there. Mostly none, which makes a look a load.
inline constinit std::atomic<int> captures_with_memory{0};
[[nodiscard]] inline bool any_captured_memory() noexcept {
  return captures_with_memory.load(std::memory_order_relaxed) != 0 && !in_forked_child();
}

// One more buffer of that capture, and one less. The first throws bad_alloc.
void add_captured_memory(unsigned long long capture);
void remove_captured_memory(unsigned long long capture) noexcept;
// Is a free worth trying?
[[nodiscard]] bool may_be_allocated(unsigned long long capture) noexcept;

// The capture has ended: with that graph, or without one.
void note_captured_graph(unsigned long long capture, abi::CUgraph graph) noexcept;
void note_nothing_captured(unsigned long long capture) noexcept;
// weir destroys the graph, or a driver has; it is a part of another one from now on; or somebody
// else is given it.
void note_graph_destroyed(abi::CUgraph graph) noexcept;
void note_graph_moved(abi::CUgraph graph, abi::CUgraph into) noexcept;
void note_graph_released(abi::CUgraph graph) noexcept;

// An executable's share in what the graphs that it is made of allocate.
class captured_memory_use {
 public:
  captured_memory_use() = default;
  captured_memory_use(const captured_memory_use&) = delete;
  captured_memory_use& operator=(const captured_memory_use&) = delete;
  ~captured_memory_use() { release_all(); }

  // Of what that graph allocates, too; gives of how many more captures that is. Throws bad_alloc,
  // and has changed nothing.
  std::size_t add(abi::CUgraph graph);
  // The last ones less.
  void release(std::size_t count) noexcept;
  void release_all() noexcept { release(captures_.size()); }
  [[nodiscard]] bool empty() const noexcept { return captures_.empty(); }
  // It is launched, or somebody else may launch it: the memory is there from now on, perhaps.
  void track_launch() const noexcept;

 private:
  std::vector<unsigned long long> captures_;
};

}  // namespace weir::detail
