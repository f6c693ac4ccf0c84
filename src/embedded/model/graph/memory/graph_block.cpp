// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_block.cpp - addresses of graph memory, and their address map
// record.
#include "embedded/model/graph/memory/graph_block.hpp"

#include <mutex>

#include "embedded/engine/wait_log.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model {

// The block does not count as used memory of the device until a launch claims it.
std::shared_ptr<graph_block> graph_block::create(device& target_device, std::size_t bytes,
                                                 std::uint64_t users) {
  // Lets reuse_policy find out for which earlier uses of a block a launch's stream has waited.
  engine::wait_log::enabled.store(true, std::memory_order_relaxed);
  backing addresses = backing::allocate(backing::extent_of(bytes), nullptr);
  if (!addresses) return nullptr;
  auto created = std::make_shared<graph_block>(target_device, bytes, users, addresses.get());
  addresses.release();
  if (created->fits()) os::poison(created->start, created->extent);  // until a launch allocates it
  return created;
}

graph_block::graph_block(device& owner_device, std::size_t count, std::uint64_t user_devices,
                         void* start_address)
    : memory_device{owner_device},
      start{start_address},
      bytes{count},
      extent{backing::extent_of(count)},
      users{user_devices},
      record{address_map::instance().add_for_graph(*this)} {}

graph_block::~graph_block() {
  {
    const std::lock_guard lock{graph_memory_account::mutex()};
    record.backing_block.store(nullptr, std::memory_order_relaxed);
    if (backed) memory_device.graph_memory.end(*this);
  }
  address_map::instance().remove(record);
  if (fits()) os::unpoison(start, extent);
  freed_memory::release_block(start, extent, nullptr, nullptr, nullptr);
}

// Returns false for a block larger than the device's memory: no launch can allocate it. Such a
// block is not poisoned, because the address sanitizer's shadow memory would take an eighth of its
// size.
bool graph_block::fits() const noexcept { return bytes <= memory_device.total_memory(); }

void graph_block::drop_pages() noexcept { backing::drop_pages(start, extent); }

}  // namespace weir::embedded::model
