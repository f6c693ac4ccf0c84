// SPDX-License-Identifier: Apache-2.0
// api/memory/pinned_cache.cpp - keeps pinned memory, and frees what is too much.
#include "api/memory/pinned_cache.hpp"

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/free_backlog.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

constexpr std::size_t page_bytes = 4096;

// What a block counts: a driver pins whole pages.
std::size_t charged_bytes(const pinned_block& block) noexcept {
  return std::max(block.bytes, page_bytes);
}

// Returns the number of the list for blocks of this size. All blocks of up to a page share one.
std::size_t list_index(std::size_t bytes) noexcept {
  if (bytes <= page_bytes) return 0;
  const std::size_t pages = (bytes - 1) / page_bytes;  // at least 1
  const auto power = static_cast<std::size_t>(std::bit_width(pages) - 1);
  const std::size_t quarter = power < 2 ? (pages << (2 - power)) & 3U : (pages >> (power - 2)) & 3U;
  return 1 + 4 * power + quarter;
}

// Returns the driver's number of the allocation; 0 if the driver has none.
unsigned long long allocation_id(void* address) noexcept {
  unsigned long long id = 0;
  const CUresult answer =
      driver().cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, device_address(address));
  return answer == CUDA_SUCCESS ? id : 0;
}

// A deferred task that frees a block when no capture is open.
task_result free_now(deferred_task& self) noexcept {
  if (!can_free_now()) return task_result::capture_active;
  auto& block = static_cast<pinned_block&>(self);
  const subject freed = subject::memory(block.address);
  const std::size_t bytes = block.bytes;
  first_failure failure;
  free_block(block, failure);
  report_if_failed(failure, freed);
  free_backlog::instance().remove(bytes);
  return task_result::done;
}

// Frees a block that nothing uses, on the thread for blocking calls.
void free_later(pinned_block& block) noexcept {
  free_backlog::instance().add(block.bytes);
  block.run = &free_now;
  defer_blocking_task(block);
}

pinned_block& make_block(weir::device gpu, CUcontext context, std::size_t bytes, unsigned flags,
                         call_site at) {
  free_backlog::instance().wait_if_long();
  auto created = std::make_unique<pinned_block>(gpu, context, bytes);
  const relaxed_mode_if_capturing guard{at};
  check(driver().cuMemHostAlloc(&created->address, bytes, flags), "cuMemHostAlloc", gpu, at);
  created->id = allocation_id(created->address);
  return *created.release();
}

}  // namespace

pinned_block::pinned_block(weir::device owner_device, CUcontext owner_context,
                           std::size_t size) noexcept
    : recycled_memory{nullptr, size}, gpu{owner_device}, context{owner_context} {}

void free_block(pinned_block& block, first_failure& failure) noexcept {
  const std::unique_ptr<pinned_block> freed{&block};
  call_blocking_in_context(block.context, failure, [&] {
    failure.note(driver().cuMemFreeHost(block.address), "cuMemFreeHost");
  });
}

pinned_cache& pinned_cache::instance() noexcept {
  static never_destroyed<pinned_cache> singleton;
  return *singleton;
}

pinned_block& pinned_cache::allocate(weir::device gpu, std::size_t bytes, unsigned flags,
                                     call_site at) {
  const CUcontext context = primary_context(gpu, at);
  const make_current current{context, at};
  recycling_queue::of_pinned_memory().finish_done(recycling_queue::looks_per_allocation);
  while (pinned_block* const kept = take(gpu, bytes)) {
    if (kept->id == allocation_id(kept->address)) return *kept;
    delete kept;  // a reset of the context has freed the memory
  }
  return make_block(gpu, context, bytes, flags, at);
}

void pinned_cache::recycle(pinned_block& block, ended_uses uses) noexcept {
  block.uses = std::move(uses);
  block.finish = &finish;
  recycling_queue::of_pinned_memory().recycle(block, max_bytes);
}

void pinned_cache::finish(recycled_memory& memory, use_state state) noexcept {
  auto& block = static_cast<pinned_block&>(memory);
  report_if_failed(std::exchange(block.failure, {}), subject::memory(block.address));
  if (state != use_state::done || block.id == 0 || block.bytes > max_bytes)
    return free_later(block);
  instance().keep(block);
}

void pinned_cache::keep(pinned_block& block) noexcept {
  std::unique_lock lock{lock_};
  try {
    lists_[block.gpu.ordinal()][list_index(block.bytes)].push_back(&block);
  } catch (...) {
    lock.unlock();
    return free_later(block);  // no memory for a longer list
  }
  block.order = ++order_;
  kept_bytes_ += charged_bytes(block);
  while (kept_bytes_ > max_bytes) {
    if (pinned_block* const oldest = remove_oldest()) free_later(*oldest);
  }
}

// Takes the block that was kept last, since the processor's caches may have it.
pinned_block* pinned_cache::take_from(std::vector<pinned_block*>& list,
                                      std::size_t bytes) noexcept {
  constexpr std::ptrdiff_t max_looks = 8;
  const auto last = list.rbegin() + std::min(max_looks, std::ssize(list));
  const auto found = std::find_if(list.rbegin(), last, [&](const pinned_block* block) {
    return block->bytes >= bytes && charged_bytes(*block) / 2 <= std::max(bytes, page_bytes / 2);
  });
  if (found == last) return nullptr;
  pinned_block* const block = *found;
  list.erase(std::next(found).base());
  kept_bytes_ -= charged_bytes(*block);
  return block;
}

pinned_block* pinned_cache::take(weir::device gpu, std::size_t bytes) noexcept {
  const std::lock_guard hold{lock_};
  const auto found = lists_.find(gpu.ordinal());
  if (found == lists_.end() || bytes > max_bytes) return nullptr;
  block_lists& lists = found->second;
  // The lists up to the one of twice the size.
  const std::size_t first = list_index(bytes);
  const std::size_t end = std::min(first + 5, lists.size());
  for (std::size_t i = first; i < end; ++i) {
    if (pinned_block* const block = take_from(lists[i], bytes)) return block;
  }
  return nullptr;
}

pinned_block* pinned_cache::remove_oldest() noexcept {
  std::vector<pinned_block*>* oldest = nullptr;
  for (auto& [ordinal, lists] : lists_) {
    for (std::vector<pinned_block*>& list : lists) {
      if (!list.empty() && (oldest == nullptr || list.front()->order < oldest->front()->order))
        oldest = &list;
    }
  }
  if (oldest == nullptr) return nullptr;
  pinned_block* const block = oldest->front();
  oldest->erase(oldest->begin());
  kept_bytes_ -= charged_bytes(*block);
  return block;
}

void pinned_cache::trim() noexcept {
  const std::lock_guard hold{lock_};
  for (auto& [ordinal, lists] : lists_) {
    for (std::vector<pinned_block*>& list : lists) {
      for (pinned_block* const block : list) free_later(*block);
      list.clear();
    }
  }
  kept_bytes_ = 0;
}

}  // namespace weir::detail
