// model/graph_block.cpp - addresses that come and go, and their record in the address map.
#include "embedded/model/graph/memory/graph_block.hpp"

#include "embedded/engine/wait_log.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/poison.hpp"

namespace weir::embedded::model {

// Of the device nothing is taken yet.
std::shared_ptr<graph_block> graph_block::make(device& on, std::size_t bytes, std::uint64_t users) {
  engine::wait_log::enabled.store(true, std::memory_order_relaxed);
  backing addresses = backing::allocate(backing::extent_of(bytes), nullptr);
  if (!addresses) return nullptr;
  auto made = std::make_shared<graph_block>(on, bytes, users, addresses.get());
  addresses.release();
  if (made->fits()) poison(made->at, made->extent);  // until it is launched
  return made;
}

graph_block::graph_block(device& of, std::size_t count, std::uint64_t user_devices, void* start)
    : on{of},
      at{start},
      bytes{count},
      extent{backing::extent_of(count)},
      users{user_devices},
      record{address_map::instance().add_for_graph(*this)} {}

graph_block::~graph_block() {
  graph_memory::forget(*this);
  address_map::instance().remove(record);
  if (fits()) unpoison(at, extent);
  backing::deallocate(at, extent, nullptr);
}

// One that the device has no room for is never launched. To tell the sanitizer of it would take an
// eighth of its size.
bool graph_block::fits() const noexcept { return bytes <= on.total_memory(); }

void graph_block::drop_pages() noexcept { backing::drop_pages(at, extent); }

}  // namespace weir::embedded::model
