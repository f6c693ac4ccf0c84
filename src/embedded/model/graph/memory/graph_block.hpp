// model/graph_block.hpp - memory that a node of a graph allocates: addresses that are fixed when
// the node is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"

namespace weir::embedded::model {

struct allocation;
class device;

// The addresses are there from the making of the node on, and nobody else's as long as a node, an
// executable or a launch in flight may use them, or what a launch left there lives. Memory counts
// against the device, and the address map tells of an allocation, as launches come and go
// (graph_memory.hpp).
//
// A node that comes after the free of an earlier one in its graph may have the same block.
//
// Thread safety: what is guarded is said below; the rest does not change.
struct graph_block : std::enable_shared_from_this<graph_block> {
  // What launches have made of it.
  enum class state : std::uint8_t {
    unused,     // nobody's; work may still use it up to `free_at`
    submitted,  // a launch, or a free in stream order, that uses it is being submitted
    live,       // an allocation that a launch has left behind
  };

  // Null where there are no addresses for so many bytes. Throws std::bad_alloc.
  static std::shared_ptr<graph_block> make(device& on, std::size_t bytes, std::uint64_t users);

  graph_block(device& on, std::size_t bytes, std::uint64_t users, void* at);
  ~graph_block();
  graph_block(const graph_block&) = delete;
  graph_block& operator=(const graph_block&) = delete;

  [[nodiscard]] abi::CUdeviceptr address() const noexcept {
    return reinterpret_cast<abi::CUdeviceptr>(at);
  }

  // Can it be launched: has the device room for it when nothing else is there?
  [[nodiscard]] bool fits() const noexcept;
  // Lets the system have its pages back. What was in them is lost.
  void drop_pages() noexcept;

  device& on;
  void* const at;
  const std::size_t bytes;    // of the node that it was made for
  const std::size_t extent;   // what it occupies, and counts against the device
  const std::uint64_t users;  // a bit for each device that may use it, by its ordinal
  allocation& record;         // in the address map; live while the block is

  // Guarded by the lock of the graphs.
  abi::CUgraph owning_graph = nullptr;  // whose nodes allocate it
  abi::CUgraphNode freed_by = nullptr;  // the node of that graph that frees it
  std::vector<abi::CUgraph> freed_in;   // the other graphs that have a node that frees it

  // Guarded by the lock of the graphs' memory.
  state status = state::unused;
  bool backed = false;                          // counts against the device
  std::size_t number = 0;                       // while it does: its place among those
  engine::point free_at{};                      // while it is unused
  std::shared_ptr<graph_block> self_reference;  // itself, while it is live
  std::size_t live_bytes = 0;                   // of the allocation that is live
};

}  // namespace weir::embedded::model
