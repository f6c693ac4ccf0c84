// model/graph_memory_launch.cpp - memory that launches get, leave behind and free.
#include <algorithm>
#include <mutex>
#include <utility>

#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/memory/pool/pool_asker.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model::graph_memory {

using namespace abi;
using state = graph_block::state;

namespace {

using blocks = std::vector<std::shared_ptr<graph_block>>;

template <class Visitor>
void for_each_allocated(const graph_memory_use& what, Visitor&& visit) {
  for (const auto& block : what.own) visit(*block);
  for (const auto& [block, bytes] : what.left) visit(*block);
}

// Where memory changes hands in stream order, the pages of those who had it go once their work is done; not if they have
// got other memory meanwhile, nor if they have lost that, too, and work still uses it: who has it now sees to the pages then.
struct drop_pages {
  blocks* of;

  void run() const noexcept {
    {
      const std::lock_guard lock{graph_account::mutex()};
      for (const auto& block : *of) {
        if (!block->backed && block->is == state::unused && block->free_at.reached()) block->drop_pages();
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
  for (const auto& [block, bytes] : what_.left) {
    if (block->is != state::unused && !(block->is == state::live && frees_on_launch)) return CUDA_ERROR_INVALID_VALUE;
  }
  const bool all_there = std::ranges::all_of(what_.freed, [](const auto& block) { return block->is == state::live; });
  return all_there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult launch::begin(bool frees_on_launch) {
  after_.reserve(what_.own.size() + what_.left.size());
  gone_.reserve(what_.freed.size());
  for (bool again = false;; again = true) {
    displaced_ = std::make_unique<blocks>();
    {
      const std::lock_guard lock{graph_account::mutex()};
      if (const CUresult status = check(frees_on_launch); status != CUDA_SUCCESS) return status;
      if (get_memory()) {
        take_over();
        return CUDA_SUCCESS;
      }
    }
    if (again) return CUDA_ERROR_OUT_OF_MEMORY;
    for_each_allocated(what_, [&](const graph_block& block) { pool_registry::give_up_idle(block.on, &in_); });
  }
}

// Finds memory for all blocks that have none. False where there is none; what changes hands is in `displaced_`.
bool launch::get_memory() {
  std::vector<std::pair<device*, std::size_t>> needs;
  for_each_allocated(what_, [&](graph_block& block) {
    if (block.backed) return;
    auto known = std::ranges::find(needs, &block.on, &std::pair<device*, std::size_t>::first);
    if (known == needs.end()) known = needs.insert(needs.end(), {&block.on, 0});
    known->second += block.extent;
    block.on.graph_memory.make_room(what_.own.size() + what_.left.size());
  });
  for (const auto& [on, bytes] : needs) displaced_->reserve(displaced_->size() + on->graph_memory.backed().size());

  // What the launch itself uses is not taken for others of its blocks.
  for_each_allocated(what_, [](graph_block& block) {
    if (block.is == state::unused) block.is = state::submitted;
  });
  const bool enough =
      std::ranges::all_of(needs, [&](const auto& need) { return find_memory(*need.first, need.second); });
  if (!enough) {
    for_each_allocated(what_, [](graph_block& block) {
      if (block.is == state::submitted) block.is = state::unused;
    });
  }
  return enough;
}

bool launch::find_memory(device& on, std::size_t bytes) noexcept {
  graph_account& account = on.graph_memory;
  if (account.reserve(on, account.used() + bytes) || account.reserve_from_idle(on, bytes)) return true;
  // What the stream is through with when it comes to this launch.
  const pool_asker asker{in_.line(), true, pool_asker::takes::known};
  std::size_t wanted = account.used() + bytes;
  for (graph_block* block : account.backed()) {
    if (block->is != state::unused || !asker.may_use(block->free_at)) continue;
    auto held = block->weak_from_this().lock();
    if (held == nullptr) continue;  // about to end
    displaced_->push_back(std::move(held));
    wanted -= block->extent;
    if (account.reserve(on, wanted)) return true;
  }
  return false;
}

void launch::take_over() noexcept {
  for (const auto& block : *displaced_) block->on.graph_memory.remove(*block);
  for_each_allocated(what_, [&](graph_block& block) {
    if (!block.backed) block.on.graph_memory.add(block);
    block.live_bytes = block.bytes;
    permit(block.at, block.extent);
    if (block.is == state::live) {
      (void)block.record.close();
    } else if (!block.free_at.reached()) {
      after_.push_back(block.free_at);
    }
    block.is = state::submitted;
  });
  for (const auto& block : what_.freed) {
    (void)block->record.close();
    block->is = state::submitted;
  }
  begun_ = true;
}

void launch::order(engine::timeline::submission& main) {
  for (const engine::point until : after_) main.add_wait(until);
  if (displaced_->empty()) return;
  main.add(engine::make_operation(drop_pages{displaced_.get()}, engine::operation_kind::work, true));
  displaced_.release();
}

void launch::end(engine::point complete) noexcept {
  begun_ = false;
  {
    const std::lock_guard lock{graph_account::mutex()};
    for (const auto& block : what_.own) {
      block->is = state::unused;
      block->free_at = complete;
    }
    for (const auto& [block, bytes] : what_.left) {
      block->is = state::live;
      block->kept = block;
      block->live_bytes = bytes;
      block->record.id = address_map::next_id();
      block->record.sync_memops.store(false, std::memory_order_relaxed);
      block->record.open(bytes);
    }
    for (const auto& block : what_.freed) {
      block->is = state::unused;
      block->free_at = complete;
      gone_.push_back(std::exchange(block->kept, nullptr));
    }
  }
  gone_.clear();
}

}  // namespace weir::embedded::model::graph_memory
