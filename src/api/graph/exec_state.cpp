// api/graph/exec_state.cpp - owners of an executable's parameters, kept as long as a launch may use them.
#include "api/graph/exec_state.hpp"

#include "api/deferred/let_go_after.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::detail {

exec_state::~exec_state() {
  if (green_ != nullptr) green_->drop();
}

void exec_state::end(exec_state* state) noexcept {
  if (state == nullptr) return;
  state->retire_all();
  delete state;
}

bool exec_state::note_launch(stream_ref stream, call_site at) {
  captured.note_launch();
  if (!keeps()) return false;
  const bool held = current_->note(stream.get(), {}, at);
  launched_.store(true, std::memory_order_relaxed);
  return !held;
}

void exec_state::reserve(abi::CUgraphNode node, owner_list list) {
  next_.clear();
  for (const owner_share& share : std::span{list.first, list.size}) {
    if (share) next_.push_back(share);
  }
  if (next_.empty() && !owners_.contains(node)) return;
  if (current_ == nullptr) current_ = std::make_shared<use_list>();
  if (spare_ == nullptr) spare_ = std::make_shared<use_list>();
  owners_.try_emplace(node);
}

void exec_state::set(abi::CUgraphNode node) noexcept {
  const auto place = owners_.find(node);
  if (place == owners_.end()) return;
  retire(std::exchange(place->second, std::exchange(next_, {})));
  if (place->second.empty()) owners_.erase(place);
}

void exec_state::retire_all() noexcept {
  if (current_ == nullptr) return;
  owners all;
  try {
    for (auto& [node, kept] : owners_) {
      for (owner_share& share : kept) all.push_back(std::move(share));
    }
  } catch (...) {  // without memory they stay for good: nobody would know when they may go
    for (auto& [node, kept] : owners_) {
      for (owner_share& share : kept) static_cast<void>(share.release());
    }
  }
  owners_.clear();
  // The lists go along also where no owners do: their end may call the driver.
  let_go_after(std::exchange(current_, nullptr), std::exchange(previous_, nullptr), std::move(all));
  launched_.store(false, std::memory_order_relaxed);
}

void exec_state::retire(owners&& gone) noexcept {
  if (gone.empty()) return;
  if (launched_.load(std::memory_order_relaxed)) {
    previous_ = std::exchange(current_, std::exchange(spare_, nullptr));
    launched_.store(false, std::memory_order_relaxed);
  }
  let_go_after(nullptr, previous_, std::move(gone));
}

}  // namespace weir::detail
