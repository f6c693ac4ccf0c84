// SPDX-License-Identifier: Apache-2.0
// api/graph/exec_state.cpp - keeps the owners of an executable's parameters while a launch may use
// them.
#include "api/graph/exec_state.hpp"

#include "api/deferred/release_when_idle.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::detail {

bool exec_state::track_launch(stream_ref stream, call_site at) {
  bool must_record = note_launch(captured, stream.get(), at);
  const bool is_capturing = any_capture_active();
  for (const memory_reference& memory : used) {
    if (is_capturing) note_captured_use(*memory, stream.get(), at);
    must_record |= memory->add_use(stream, at);
  }
  if (!has_owners()) return must_record;
  must_record |= !recent_launches_->register_stream(stream.get(), {}, at);
  launched_.store(true, std::memory_order_relaxed);
  return must_record;
}

void exec_state::mark_launch_end(stream_ref stream, call_site at) {
  for (const auto& owner : captured) owner->allocations->launches->record(stream.get(), at);
  for (const memory_reference& memory : used) {
    if (!memory->closed()) memory->uses().record(stream.get(), at);
  }
  if (has_owners()) recent_launches_->record(stream.get(), at);
}

void exec_state::reserve(abi::CUgraphNode node, owner_list list,
                         const std::vector<region>& memory) {
  std::erase_if(used, [](const memory_reference& each) { return each->closed(); });
  for (memory_reference& each : references_to(memory)) {
    if (std::ranges::find(used, each) == used.end()) used.push_back(std::move(each));
  }
  pending_owners_.clear();
  for (const keep_alive_ref& share : std::span{list.first, list.size}) {
    if (share) pending_owners_.push_back(share);
  }
  if (pending_owners_.empty() && !owners_.contains(node)) return;
  if (recent_launches_ == nullptr) recent_launches_ = std::make_shared<pending_uses>();
  if (spare_uses_ == nullptr) spare_uses_ = std::make_shared<pending_uses>();
  owners_.try_emplace(node);
}

void exec_state::set(abi::CUgraphNode node) noexcept {
  const auto entry = owners_.find(node);
  if (entry == owners_.end()) return;
  retire(std::exchange(entry->second, std::exchange(pending_owners_, {})));
  if (entry->second.empty()) owners_.erase(entry);
}

void exec_state::retire_all() noexcept {
  if (recent_launches_ == nullptr) return;
  owners all;
  try {
    for (auto& [node, kept] : owners_) {
      for (keep_alive_ref& share : kept) all.push_back(std::move(share));
    }
  } catch (...) {
    // Memory for the list of owners is exhausted. The other owners are leaked, because launches
    // that are not done may use them.
    for (auto& [node, kept] : owners_) {
      for (keep_alive_ref& share : kept) static_cast<void>(share.release());
    }
  }
  owners_.clear();
  // The lists of launches are passed on even if there are no owners, because their destruction may
  // call the driver, which is not allowed on every thread.
  release_when_idle(std::exchange(recent_launches_, nullptr),
                    std::exchange(earlier_launches_, nullptr), std::move(all));
  launched_.store(false, std::memory_order_relaxed);
}

void exec_state::retire(owners&& retired) noexcept {
  if (retired.empty()) return;
  if (launched_.load(std::memory_order_relaxed)) {
    earlier_launches_ = std::exchange(recent_launches_, std::exchange(spare_uses_, nullptr));
    launched_.store(false, std::memory_order_relaxed);
  }
  release_when_idle(nullptr, earlier_launches_, std::move(retired));
}

}  // namespace weir::detail
