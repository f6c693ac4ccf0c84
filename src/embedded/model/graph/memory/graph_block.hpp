// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_block.hpp - memory of an allocation node, with fixed addresses.
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

// The memory of an allocation node. Its addresses exist from the creation of the node, while a
// node, an executable or a launch in flight may use them, or a launch's allocation is live.
// Launches change whether the memory counts against the device and is live in the address map
// (graph_memory.hpp).
//
// An allocation node after the free of an earlier one in its graph may use the earlier node's
// block.
//
// Thread safety: members are guarded as noted below; the others do not change.
struct graph_block : std::enable_shared_from_this<graph_block> {
  // The state that launches give it.
  enum class state : std::uint8_t {
    unused,     // not in use; earlier work may use it up to `free_at`
    submitted,  // a launch or a stream-ordered free that uses it is being submitted
    live,       // a launch has allocated it and not freed it
  };

  // Returns null if the system has no addresses. Throws std::bad_alloc.
  static std::shared_ptr<graph_block> create(device& target_device, std::size_t bytes,
                                             std::uint64_t users);

  graph_block(device& target_device, std::size_t bytes, std::uint64_t users, void* start);
  ~graph_block();
  graph_block(const graph_block&) = delete;
  graph_block& operator=(const graph_block&) = delete;

  [[nodiscard]] abi::CUdeviceptr address() const noexcept {
    return reinterpret_cast<abi::CUdeviceptr>(start);
  }

  // Returns true if the device's whole memory is large enough for it. Otherwise it is never
  // launched.
  [[nodiscard]] bool fits() const noexcept;
  // Returns its pages to the system. Their contents are lost.
  void drop_pages() noexcept;

  device& memory_device;
  void* const start;
  const std::size_t bytes;    // of the node that it was made for
  const std::size_t extent;   // the bytes that it occupies, and that count against the device
  const std::uint64_t users;  // a bit for the ordinal of each device that may use it
  allocation& record;         // in the address map; live while the block is

  // Guarded by the lock of the graphs.
  abi::CUgraph owning_graph = nullptr;  // the graph whose nodes allocate it
  abi::CUgraphNode freed_by = nullptr;  // the node of that graph that frees it
  std::vector<abi::CUgraph> freed_in;   // the other graphs with a node that frees it

  // Guarded by the lock of the graph memory.
  state status = state::unused;
  bool backed = false;                          // counts against the device
  std::size_t backed_index = 0;                 // if backed: its index among the backed blocks
  engine::point free_at{};                      // if unused: the end of its last use
  std::shared_ptr<graph_block> self_reference;  // keeps it alive while it is live
  std::size_t live_bytes = 0;                   // the size of the live allocation
};

}  // namespace weir::embedded::model
