// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_map.cpp - the ordered map of records. The header looks up a
// thread's cache.
#include "embedded/model/memory/address_map.hpp"

#include <atomic>
#include <iterator>
#include <mutex>

#include "embedded/model/graph/memory/graph_block.hpp"

namespace weir::embedded::model {

address_map& address_map::instance() noexcept {
  // Never destroyed, because destructors of static objects may still free memory.
  static address_map& map = *new address_map;
  return map;
}

allocation& address_map::add(std::uintptr_t base, std::size_t extent,
                             const allocation_traits& traits) {
  const std::lock_guard lock{mutex_};
  return replace(base, extent, traits);
}

allocation& address_map::replace(std::uintptr_t base, std::size_t extent,
                                 const allocation_traits& traits) {
  while (allocation* stale = find_overlapping(base, extent)) {
    records_by_base_.erase(stale->start());
    // Another call that has closed the record still uses it, and recycles it in remove().
    if (stale->close() != 0) free_records_.push_back(stale);
  }
  return insert(base, extent, traits);
}

allocation& address_map::add_for_graph(graph_block& block) {
  const std::lock_guard lock{mutex_};
  allocation& record = replace(reinterpret_cast<std::uintptr_t>(block.start), block.extent,
                               {.kind = memory_kind::graph,
                                .memory_device = &block.memory_device,
                                .graph_bytes = block.bytes});
  record.graph_users.store(block.users, std::memory_order_relaxed);
  record.backing_block.store(&block, std::memory_order_relaxed);
  return record;
}

allocation* address_map::find_graph_memory(std::uintptr_t address, std::size_t bytes) noexcept {
  const address_map& map = instance();
  const std::shared_lock lock{map.mutex_};
  allocation* const found = map.find_at_or_below(address);
  if (found == nullptr) return nullptr;
  const std::size_t offset = address - found->start();
  return offset <= found->graph_bytes && bytes <= found->graph_bytes - offset ? found : nullptr;
}

allocation* address_map::add_registration(std::uintptr_t base, std::size_t extent,
                                          memory_kind& conflict, const allocation_traits& traits) {
  const std::lock_guard lock{mutex_};
  if (const allocation* overlap = find_overlapping(base, extent)) {
    conflict = overlap->kind;
    return nullptr;
  }
  return &insert(base, extent, traits);
}

allocation* address_map::close(std::uintptr_t start, memory_kind kind, unsigned long long id,
                               std::size_t* bytes) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = records_by_base_.find(start);
  if (found == records_by_base_.end() || found->second->kind != kind) return nullptr;
  if (id != 0 && found->second->id != id) return nullptr;
  const std::size_t closed_bytes = found->second->close();
  if (bytes != nullptr) *bytes = closed_bytes;
  return closed_bytes != 0 ? found->second : nullptr;
}

void address_map::remove(allocation& record) noexcept {
  if (record.kind != memory_kind::pooled && record.kind != memory_kind::graph) note_removal();
  const std::lock_guard lock{mutex_};
  if (contains(record)) records_by_base_.erase(record.start());
  free_records_.push_back(&record);  // insert() reserved the capacity when it made the record
}

void address_map::reopen(allocation& record, std::size_t bytes) noexcept {
  const std::lock_guard lock{mutex_};
  if (contains(record)) {
    record.open(bytes);
  } else {
    free_records_.push_back(&record);
  }
}

bool address_map::contains(const allocation& record) const noexcept {
  const auto found = records_by_base_.find(record.start());
  return found != records_by_base_.end() && found->second == &record;
}

allocation* address_map::find_at_or_below(std::uintptr_t address) const noexcept {
  const auto above = records_by_base_.upper_bound(address);
  return above != records_by_base_.begin() ? std::prev(above)->second : nullptr;
}

allocation* address_map::find_overlapping(std::uintptr_t address,
                                          std::size_t bytes) const noexcept {
  const auto next = records_by_base_.lower_bound(address);
  if (next != records_by_base_.end() && next->first - address < bytes) return next->second;
  allocation* const before = find_at_or_below(address);
  return before != nullptr && address - before->start() < before->extent ? before : nullptr;
}

allocation& address_map::insert(std::uintptr_t base, std::size_t extent,
                                const allocation_traits& traits) {
  if (free_records_.empty()) {
    allocation* created = &records_.emplace_back();
    if (free_records_.capacity() < records_.size()) free_records_.reserve(2 * records_.size());
    free_records_.push_back(created);
  }
  allocation& record = *free_records_.back();
  records_by_base_.emplace(base, &record);  // the last call that may throw
  free_records_.pop_back();
  record.move_to(base);
  static_cast<allocation_traits&>(record) = traits;
  record.extent = extent;
  record.id = next_id();
  record.sync_memops.store(false, std::memory_order_relaxed);
  record.access.store(abi::CU_MEM_ACCESS_FLAGS_PROT_READWRITE, std::memory_order_relaxed);
  record.backing_block.store(nullptr, std::memory_order_relaxed);
  record.piece.store(-1, std::memory_order_relaxed);
  return record;
}

bool address_map::is_fully_mapped(std::uintptr_t address, std::size_t bytes,
                                  abi::CUmemAccess_flags requested) noexcept {
  for (;;) {
    const allocation* found = find(address);
    if (found == nullptr || found->kind != memory_kind::mapped || !found->allows(requested))
      return false;
    const std::size_t rest = found->start() + found->extent - address;
    if (bytes <= rest) return true;
    address += rest;
    bytes -= rest;
  }
}

unsigned long long address_map::next_id() noexcept {
  static constinit std::atomic<unsigned long long> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

allocation* address_map::look_up(std::uintptr_t address) const noexcept {
  const std::shared_lock lock{mutex_};
  allocation* const found = find_at_or_below(address);
  return found != nullptr && found->holds(address) ? found : nullptr;
}

std::size_t address_map::list_owned_by(const context& owner, std::uintptr_t& first_address,
                                       std::span<allocation*> out) const noexcept {
  const std::shared_lock lock{mutex_};
  std::size_t count = 0;
  for (auto next = records_by_base_.lower_bound(first_address);
       next != records_by_base_.end() && count < out.size(); ++next) {
    const auto [base, record] = *next;
    if (record->owner_context == &owner && record->holds(base)) out[count++] = record;
    first_address = base + 1;
  }
  return count;
}

}  // namespace weir::embedded::model
