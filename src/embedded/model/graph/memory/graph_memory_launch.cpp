// model/graph_memory_launch.cpp - memory that launches get, leave behind and free.
#include <algorithm>
#include <mutex>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/memory/pool/reuse_policy.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model::graph_memory {

using namespace abi;
using state = graph_block::state;

namespace {

using blocks = std::vector<std::shared_ptr<graph_block>>;

template <class Visitor>
void for_each_allocated(const graph_memory_usage& usage, Visitor&& visit) {
  for (const auto& block : usage.internal) visit(*block);
  for (const auto& [block, bytes] : usage.leftovers) visit(*block);
}

// Where memory changes hands in stream order, the pages of those who had it go once their work is
// done; not if they have got other memory meanwhile, nor if they have lost that, too, and work
// still uses it: who has it now sees to the pages then.
struct drop_pages {
  blocks* of;

  void run() const noexcept {
    {
      const std::lock_guard lock{graph_memory_account::mutex()};
      for (const auto& block : *of) {
        if (!block->backed && block->status == state::unused && block->free_at.reached())
          block->drop_pages();
      }
    }
    delete of;
  }
};

}  // namespace

launch::~launch() {
  if (begun_) end(in_.line().submitted_point());
}

CUresult launch::check(bool frees_on_launch) const noexcept {
  for (const auto& [block, bytes] : usage_.leftovers) {
    if (block->status != state::unused && !(block->status == state::live && frees_on_launch))
      return CUDA_ERROR_INVALID_VALUE;
  }
  const bool all_live = std::ranges::all_of(
      usage_.freed, [](const auto& block) { return block->status == state::live; });
  return all_live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult launch::begin(bool frees_on_launch) {
  after_.reserve(usage_.internal.size() + usage_.leftovers.size());
  released_.reserve(usage_.freed.size());
  for (bool again = false;; again = true) {
    displaced_blocks_ = std::make_unique<blocks>();
    {
      const std::lock_guard lock{graph_memory_account::mutex()};
      if (const CUresult status = check(frees_on_launch); status != CUDA_SUCCESS) return status;
      if (get_memory()) {
        claim_memory();
        return CUDA_SUCCESS;
      }
    }
    if (again) return CUDA_ERROR_OUT_OF_MEMORY;
    for_each_allocated(
        usage_, [&](const graph_block& block) { pool_registry::release_all_idle(block.on, &in_); });
  }
}

// Finds memory for all blocks that have none. False where there is none; what changes hands is in
// `displaced_blocks_`.
bool launch::get_memory() {
  std::vector<std::pair<device*, std::size_t>> requirements;
  for_each_allocated(usage_, [&](graph_block& block) {
    if (block.backed) return;
    auto known =
        std::ranges::find(requirements, &block.on, &std::pair<device*, std::size_t>::first);
    if (known == requirements.end())
      known = requirements.insert(requirements.end(), {&block.on, 0});
    known->second += block.extent;
    block.on.graph_memory.make_room(usage_.internal.size() + usage_.leftovers.size());
  });
  for (const auto& [on, bytes] : requirements)
    displaced_blocks_->reserve(displaced_blocks_->size() + on->graph_memory.backed().size());

  // What the launch itself uses is not taken for others of its blocks.
  for_each_allocated(usage_, [](graph_block& block) {
    if (block.status == state::unused) block.status = state::submitted;
  });
  const bool enough = std::ranges::all_of(requirements, [&](const auto& requirement) {
    return find_memory(*requirement.first, requirement.second);
  });
  if (!enough) {
    for_each_allocated(usage_, [](graph_block& block) {
      if (block.status == state::submitted) block.status = state::unused;
    });
  }
  return enough;
}

bool launch::find_memory(device& on, std::size_t bytes) noexcept {
  graph_memory_account& account = on.graph_memory;
  if (account.reserve(on, account.used() + bytes) || account.reserve_from_idle(on, bytes))
    return true;
  // What the stream is through with when it comes to this launch.
  const reuse_policy policy{in_.line(), true, reuse_policy::reuse_level::known};
  std::size_t wanted = account.used() + bytes;
  for (graph_block* block : account.backed()) {
    if (block->status != state::unused || !policy.may_use(block->free_at)) continue;
    auto held = block->weak_from_this().lock();
    if (held == nullptr) continue;  // about to end
    displaced_blocks_->push_back(std::move(held));
    wanted -= block->extent;
    if (account.reserve(on, wanted)) return true;
  }
  return false;
}

void launch::claim_memory() noexcept {
  for (const auto& block : *displaced_blocks_) block->on.graph_memory.remove(*block);
  for_each_allocated(usage_, [&](graph_block& block) {
    if (!block.backed) block.on.graph_memory.add(block);
    block.live_bytes = block.bytes;
    unpoison(block.at, block.extent);
    if (block.status == state::live) {
      (void)block.record.close();
    } else if (!block.free_at.reached()) {
      after_.push_back(block.free_at);
    }
    block.status = state::submitted;
  });
  for (const auto& block : usage_.freed) {
    (void)block->record.close();
    block->status = state::submitted;
  }
  begun_ = true;
}

void launch::order(engine::timeline::submission& main) {
  for (const engine::point until : after_) main.add_wait(until);
  if (displaced_blocks_->empty()) return;
  main.add(engine::make_operation(drop_pages{displaced_blocks_.get()}, engine::operation_kind::work,
                                  true));
  displaced_blocks_.release();
}

void launch::end(engine::point complete) noexcept {
  begun_ = false;
  {
    const std::lock_guard lock{graph_memory_account::mutex()};
    for (const auto& block : usage_.internal) {
      block->status = state::unused;
      block->free_at = complete;
    }
    for (const auto& [block, bytes] : usage_.leftovers) {
      block->status = state::live;
      block->self_reference = block;
      block->live_bytes = bytes;
      block->record.id = address_map::next_id();
      block->record.sync_memops.store(false, std::memory_order_relaxed);
      block->record.open(bytes);
    }
    for (const auto& block : usage_.freed) {
      block->status = state::unused;
      block->free_at = complete;
      released_.push_back(std::exchange(block->self_reference, nullptr));
    }
  }
  released_.clear();
}

}  // namespace weir::embedded::model::graph_memory
