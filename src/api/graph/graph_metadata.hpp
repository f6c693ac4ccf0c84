// api/graph/graph_metadata.hpp - how long notes on a graph are kept, and its copies' notes. What
// they say: node_notes, graph_parts.
#pragma once

#include "driver/abi.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// By the handles of graphs and nodes, which a driver gives out again for others. Two things see to
// it that nobody is taken for somebody else: a graph that weir makes begins without notes, and one
// that weir destroys leaves none; and a graph that has notes keeps a user object that ends them,
// for when somebody else destroys it. The lock is never held while the driver is called: it may
// call back, to end that object.

// How many graphs have notes. Mostly none, which makes a look a load.
inline constinit std::atomic<int> graph_metadata_count{0};
[[nodiscard]] inline bool any_graph_metadata() noexcept {
  return graph_metadata_count.load(std::memory_order_relaxed) != 0 && !in_forked_child();
}

// For notes on a graph that is nobody's part: makes the object that ends them, if there is none.
void ensure_metadata(abi::CUgraph graph, call_site at);

// A graph that was just made, or is about to be destroyed, has no notes, and its parts have none.
void erase_metadata(abi::CUgraph graph) noexcept;
inline void forget_metadata(abi::CUgraph graph) noexcept {
  if (any_graph_metadata()) [[unlikely]] {
    erase_metadata(graph);
  }
}

// The same for one that is being destroyed: if that fails, restore() leaves the notes as they were.
class metadata_removal {
 public:
  explicit metadata_removal(abi::CUgraph graph) noexcept;
  metadata_removal(const metadata_removal&) = delete;
  metadata_removal& operator=(const metadata_removal&) = delete;
  ~metadata_removal();
  void restore() noexcept;

 private:
  struct removed_metadata;
  removed_metadata* removed_ = nullptr;
};

// The copy of a graph gets the tags that it has and the lines that added its nodes, its child
// graphs too. It is a clone or a child graph node's own.
void copy_metadata(abi::CUgraph from, abi::CUgraph copy, call_site at);

}  // namespace weir::detail
