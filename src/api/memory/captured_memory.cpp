// SPDX-License-Identifier: Apache-2.0
// api/memory/captured_memory.cpp - memory allocated in a capture whose buffer outlives the capture.
#include "api/memory/captured_memory.hpp"

#include "api/capture/capture_query.hpp"
#include "api/core/amortized_sweep.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/release_when_idle.hpp"
#include "api/graph/graph_metadata.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace weir::detail {
namespace {

// The allocations of the captures that have a buffer, by the id of the capture. An id is never
// reused. Captures without a record (capture_record.hpp) have an entry, too.
class captured_allocations_table {
 public:
  using allocations_ptr = std::shared_ptr<captured_allocations>;

  static captured_allocations_table& instance() {
    static never_destroyed<captured_allocations_table> singleton;
    return *singleton;
  }

  // Returns null if the capture has no buffer.
  [[nodiscard]] allocations_ptr find(unsigned long long capture) {
    const std::lock_guard hold{lock_};
    const auto found = by_capture_.find(capture);
    return found == by_capture_.end() ? nullptr : found->second.lock();
  }
  // Throws std::bad_alloc.
  [[nodiscard]] allocations_ptr find_or_create(unsigned long long capture) {
    const std::lock_guard hold{lock_};
    sweep_.before_insertion(by_capture_, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<captured_allocations>& entry = by_capture_[capture];
    allocations_ptr allocations = entry.lock();
    if (allocations != nullptr) return allocations;
    allocations = std::make_shared<captured_allocations>();
    entry = allocations;
    return allocations;
  }

 private:
  std::mutex lock_;
  std::map<unsigned long long, std::weak_ptr<captured_allocations>> by_capture_;
  amortized_sweep sweep_;
};

}  // namespace

// The driver may run this destructor on a thread of its own, which must make no driver call.
captured_allocations::~captured_allocations() {
  if (!launches->empty()) release_when_idle(std::move(launches), nullptr, {});
}

std::unique_ptr<captured_memory> captured_memory_in(CUstream stream) {
  const unsigned long long id = capture_id_of(stream);
  if (id == 0) return nullptr;
  return std::make_unique<captured_memory>(
      captured_memory{id, captured_allocations_table::instance().find_or_create(id)});
}

bool has_no_buffer(const captured_memory_owners& owners) noexcept {
  return std::ranges::all_of(owners,
                             [](const auto& owner) { return owner->allocations.use_count() == 1; });
}

void own_captured_memory(unsigned long long capture, CUgraph graph) noexcept {
  const auto allocations = captured_allocations_table::instance().find(capture);
  if (allocations == nullptr) return;
  try {
    auto owner = std::make_shared<captured_memory_owner>(allocations);
    const locked_metadata_store store;
    store->sweep();
    store->graphs[graph].captured.insert(std::move(owner));
    store->update_count();
  } catch (...) {
    // Memory is exhausted, so weir cannot track the graph, and relies on the driver's answer. The
    // destructor of `owner` may have set the member.
    allocations->never_existed = false;
  }
}

void note_never_existed(unsigned long long capture) noexcept {
  if (const auto allocations = captured_allocations_table::instance().find(capture))
    allocations->never_existed = true;
}

bool note_launch(const captured_memory_owners& owners, CUstream stream, call_site at) {
  note_launch(owners);
  bool must_record = false;
  for (const auto& owner : owners)
    must_record |= !owner->allocations->launches->register_stream(stream, {}, at);
  return must_record;
}

namespace {

bool any_captured_memory() noexcept {
  return captured_memory_owner_count.load(std::memory_order_relaxed) != 0 && any_graph_metadata();
}

}  // namespace

captured_memory_owners get_captured_memory(CUgraph graph) {
  captured_memory_owners owners;
  if (!any_captured_memory()) return owners;
  const locked_metadata_store store;
  store->visit_parts(graph, [&](const graph_metadata& metadata) {
    owners.insert(metadata.captured.begin(), metadata.captured.end());
  });
  return owners;
}

bool allocates_in(CUgraph graph, const captured_memory& memory) noexcept {
  if (!any_captured_memory()) return false;
  const locked_metadata_store store;
  const graph_metadata* const metadata = store->find(graph);
  return metadata != nullptr && std::ranges::any_of(metadata->captured, [&](const auto& owner) {
           return owner->allocations == memory.allocations;
         });
}

void disown_captured_memory(CUgraph graph) noexcept {
  if (!any_graph_metadata()) return;
  const locked_metadata_store store;
  store->visit_parts(graph, [](graph_metadata& metadata) {
    note_launch(metadata.captured);
    metadata.captured.clear();
    metadata.used.clear();
  });
  store->erase_ended();
}

}  // namespace weir::detail
