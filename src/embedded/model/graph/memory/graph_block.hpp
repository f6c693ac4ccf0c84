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

// The memory of an allocation node. The addresses are reserved when the node is created. They stay
// reserved while a node, an executable or a launch in flight may use them, and while a launch's
// allocation is live. Launches change whether the memory counts against the device, and whether it
// is live in the address map (graph_memory.hpp).
//
// Several allocation nodes of a graph may share a block: a node may reuse the block of an earlier
// node if it depends on the node that frees that block.
//
// Thread safety: the locks named below guard the members that change.
struct graph_block : std::enable_shared_from_this<graph_block> {
  // The state of the memory, set by launches and by stream-ordered frees.
  enum class state : std::uint8_t {
    // No launch has it allocated; earlier work may still use it until `free_at` is reached.
    unused,
    submitted,  // a launch or a stream-ordered free that uses it is being submitted
    live,       // a launch has allocated it and not freed it
  };

  // Reserves addresses for `bytes` bytes. `users`: as the member below. Returns null if the system
  // has no addresses left. Throws std::bad_alloc.
  static std::shared_ptr<graph_block> create(device& target_device, std::size_t bytes,
                                             std::uint64_t users);

  graph_block(device& target_device, std::size_t bytes, std::uint64_t users, void* start);
  ~graph_block();
  graph_block(const graph_block&) = delete;
  graph_block& operator=(const graph_block&) = delete;

  [[nodiscard]] abi::CUdeviceptr address() const noexcept {
    return reinterpret_cast<abi::CUdeviceptr>(start);
  }

  // Returns true if the block is not larger than the device's whole memory. A launch of a larger
  // block always fails.
  [[nodiscard]] bool fits() const noexcept;
  // Returns the pages of the block to the system. Their contents are lost.
  void drop_pages() noexcept;

  device& memory_device;
  void* const start;
  const std::size_t bytes;  // the size of the node that the block was made for
  // The bytes that the block occupies, and that count against the device.
  const std::size_t extent;
  const std::uint64_t users;  // bit i is set if the device with ordinal i may use the memory
  allocation& record;         // in the address map; live while `status` is `live`

  // Guarded by the lock of the graphs.
  // The number of the graph whose nodes allocate the block; 0 if there is none.
  std::size_t owning_graph = 0;
  // The node of owning_graph that frees the block; null if there is none.
  abi::CUgraphNode freed_by = nullptr;
  // The numbers of the other graphs that have a node that frees the block.
  std::vector<std::size_t> freed_in;
  // True once owning_graph was instantiated while none of its nodes freed the block.
  bool instantiated = false;

  // Guarded by graph_memory_account::mutex().
  state status = state::unused;
  bool backed = false;  // true if the block counts against the device
  // If backed: the index in graph_memory_account::backed().
  std::size_t backed_index = 0;
  // If unused: the point in a timeline at which the last use ends.
  engine::point free_at{};
  // Keeps the block alive while its memory is live; else null.
  std::shared_ptr<graph_block> self_reference;
  // The size of the last launch's allocation; 0 before the first, and after cuMemFree or
  // cuMemFreeAsync.
  std::size_t live_bytes = 0;
  // True if the program has freed the memory of the last launch by a call. As on an H100, the
  // memory then counts as used until a trim, also if the graph is destroyed meanwhile.
  bool counts_until_trim = false;
};

}  // namespace weir::embedded::model
