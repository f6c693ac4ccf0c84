// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory_launch.cpp - claims the memory that a launch allocates,
// and updates blocks at the end of its submission.
#include <algorithm>
#include <mutex>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/memory/pool/reuse_policy.hpp"
#include "embedded/model/stream/stream.hpp"
#include "os/poison.hpp"

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

// An operation that drops the pages of blocks that lost their memory to a launch, once their work
// is complete. Skips blocks that have memory again or are in use, because their current use
// determines when their pages are dropped.
struct drop_pages {
  blocks* displaced;

  void run() const noexcept {
    {
      const std::lock_guard lock{graph_memory_account::mutex()};
      for (const auto& block : *displaced) {
        if (!block->backed && block->status == state::unused && block->free_at.reached())
          block->drop_pages();
      }
    }
    delete displaced;
  }
};

}  // namespace

launch::~launch() {
  if (begun_) end(target_stream_.timeline().submitted_point());
}

CUresult launch::check(leftover_policy policy) const noexcept {
  for (const auto& [block, bytes] : usage_.leftovers) {
    if (block->status != state::unused &&
        !(block->status == state::live && policy == leftover_policy::free_on_launch))
      return CUDA_ERROR_INVALID_VALUE;
  }
  const bool all_live = std::ranges::all_of(
      usage_.freed, [](const auto& block) { return block->status == state::live; });
  return all_live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult launch::begin(leftover_policy policy) {
  prerequisites_.reserve(usage_.internal.size() + usage_.leftovers.size());
  released_.reserve(usage_.freed.size());
  for (bool retried = false;; retried = true) {
    displaced_blocks_ = std::make_unique<blocks>();
    {
      const std::lock_guard lock{graph_memory_account::mutex()};
      if (const CUresult error = check(policy)) return error;
      if (find_memory()) {
        claim_memory();
        return CUDA_SUCCESS;
      }
    }
    if (retried) return CUDA_ERROR_OUT_OF_MEMORY;
    for_each_allocated(usage_, [&](const graph_block& block) {
      pool_registry::release_all_idle(block.memory_device, &target_stream_);
    });
  }
}

// Finds memory for all blocks of the launch that have none. Appends blocks that will lose their
// memory to displaced_blocks_. Returns false if there is too little memory. Throws std::bad_alloc.
bool launch::find_memory() {
  std::vector<std::pair<device*, std::size_t>> requirements;
  for_each_allocated(usage_, [&](graph_block& block) {
    if (block.backed) return;
    auto known = std::ranges::find(requirements, &block.memory_device,
                                   &std::pair<device*, std::size_t>::first);
    if (known == requirements.end())
      known = requirements.insert(requirements.end(), {&block.memory_device, 0});
    known->second += block.extent;
    block.memory_device.graph_memory.make_room(usage_.internal.size() + usage_.leftovers.size());
  });
  for (const auto& [target_device, bytes] : requirements)
    displaced_blocks_->reserve(displaced_blocks_->size() +
                               target_device->graph_memory.backed().size());

  // Changes the state of the launch's own blocks first, so that the launch does not take their
  // memory.
  for_each_allocated(usage_, [](graph_block& block) {
    if (block.status == state::unused) block.status = state::submitted;
  });
  const bool enough = std::ranges::all_of(requirements, [&](const auto& requirement) {
    return find_device_memory(requirement.first->graph_memory, requirement.second);
  });
  if (!enough) {
    for_each_allocated(usage_, [](graph_block& block) {
      if (block.status == state::submitted) block.status = state::unused;
    });
  }
  return enough;
}

// Finds `bytes` more bytes on one device: unreserved memory, then memory of idle blocks, then
// memory of blocks that are idle once the stream reaches the launch (displaced_blocks_).
bool launch::find_device_memory(graph_memory_account& account, std::size_t bytes) noexcept {
  if (account.reserve(account.used() + bytes) || account.reserve_from_idle(bytes)) return true;
  const reuse_policy reuse{target_stream_.timeline(), reuse_policy::event_dependencies::follow,
                           reuse_policy::reuse_level::known};
  std::size_t requested = account.used() + bytes;
  for (graph_block* block : account.backed()) {
    if (block->status != state::unused || !reuse.may_use(block->free_at)) continue;
    auto block_reference = block->weak_from_this().lock();
    if (block_reference == nullptr) continue;  // the block is being destroyed
    displaced_blocks_->push_back(std::move(block_reference));
    requested -= block->extent;
    if (account.reserve(requested)) return true;
  }
  return false;
}

void launch::claim_memory() noexcept {
  for (const auto& block : *displaced_blocks_) block->memory_device.graph_memory.remove(*block);
  for_each_allocated(usage_, [&](graph_block& block) {
    if (!block.backed) block.memory_device.graph_memory.add(block);
    block.live_bytes = block.bytes;
    block.counts_until_trim = false;
    os::unpoison(block.start, block.extent);
    if (block.status == state::live) {  // freed on launch; the last launch is awaited anyway
      (void)block.record.close();
    } else if (!block.free_at.reached()) {
      prerequisites_.push_back(block.free_at);
    }
    block.status = state::submitted;
  });
  for (const auto& block : usage_.freed) {
    (void)block->record.close();
    block->status = state::submitted;
  }
  begun_ = true;
}

void launch::add_waits(engine::timeline::submission& submission) {
  for (const engine::point until : prerequisites_) submission.add_wait(until);
  if (displaced_blocks_->empty()) return;
  submission.add(engine::make_unconditional_operation(drop_pages{displaced_blocks_.get()}));
  displaced_blocks_.release();
}

void launch::end(engine::point end_point) noexcept {
  begun_ = false;
  {
    const std::lock_guard lock{graph_memory_account::mutex()};
    for (const auto& block : usage_.internal) {
      block->status = state::unused;
      block->free_at = end_point;
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
      block->free_at = end_point;
      released_.push_back(std::exchange(block->self_reference, nullptr));
    }
  }
  released_.clear();
}

}  // namespace weir::embedded::model::graph_memory
