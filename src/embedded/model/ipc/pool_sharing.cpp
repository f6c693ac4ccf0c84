// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/pool_sharing.cpp - exports pools, and maps allocations of imported pools.
#include "embedded/model/ipc/pool_sharing.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/deferred_operation.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::model {

using namespace abi;

void pool_sharing::clear() noexcept {
  const std::lock_guard lock{mutex_};
  if (store_ != nullptr) std::exchange(store_, nullptr)->release();
  exported_.store(false, std::memory_order_relaxed);
  imported_.store(false, std::memory_order_relaxed);
  imported_store_ = {};
}

CUresult pool_sharing::make_shareable(const device& owner_device,
                                      const CUmemLocation& location) noexcept {
  CUmemLocation shared_location = location;
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) shared_location.id = owner_device.number();
  store_ = shared_store::create(owner_device.number(), shared_location);
  return store_ != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult pool_sharing::export_descriptor(int& fd) noexcept {
  const std::lock_guard lock{mutex_};
  if (store_ == nullptr) return CUDA_ERROR_INVALID_VALUE;
  os::shared_memory duplicate = os::shared_memory::duplicate_of(store_->segment().fd());
  if (!duplicate) return CUDA_ERROR_OPERATING_SYSTEM;
  exported_.store(true, std::memory_order_release);
  fd = duplicate.release();
  return CUDA_SUCCESS;
}

CUresult pool_sharing::describe(allocation& block, CUmemPoolPtrExportData& out) noexcept {
  if (!exported_.load(std::memory_order_acquire)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{mutex_};
  if (block.bytes.load(std::memory_order_relaxed) == 0 || store_ == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  const int piece = store_->publish(block);
  if (piece < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const ipc_identity block_identity{.kind = ipc_kind::pooled,
                                    .process = getpid(),
                                    .identity = store_->identity(),
                                    .id = block.id,
                                    .number = piece};
  block_identity.write(out);
  return CUDA_SUCCESS;
}

void pool_sharing::withdraw(allocation& block) noexcept {
  if (!exported_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock{mutex_};
  store_->withdraw(block);
}

void pool_sharing::import(imported_store store) noexcept {
  const std::lock_guard lock{mutex_};
  imported_store_ = std::move(store);
  imported_.store(true, std::memory_order_release);
}

CUresult pool_sharing::open(const CUmemPoolPtrExportData& data, memory_pool& owner_pool,
                            CUdeviceptr& out) {
  ipc_identity block_identity;
  if (!imported() || !block_identity.read(data, ipc_kind::pooled)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock{mutex_};
  if (!imported_store_) return CUDA_ERROR_INVALID_VALUE;  // another thread is ending the pool
  const auto opened_block = std::ranges::find(open_allocations_, block_identity.id, &opened::id);
  if (opened_block != open_allocations_.end() && block_identity.identity == identity()) {
    out = opened_block->record->start();
    return CUDA_SUCCESS;
  }
  imported_store::piece piece = imported_store_.map(block_identity);
  if (!piece.pages) return CUDA_ERROR_INVALID_VALUE;
  open_allocations_.reserve(open_allocations_.size() + 1);
  const std::uintptr_t start = piece.start();
  allocation& record = address_map::instance().add(start, piece.bytes,
                                                   {.kind = memory_kind::pooled,
                                                    .on_host = owner_pool.location().is_host(),
                                                    .memory_device = &owner_pool.owner_device(),
                                                    .pool = &owner_pool});
  open_allocations_.push_back({block_identity.id, &record, std::move(piece.pages)});
  out = start;
  record.open(piece.bytes);
  return CUDA_SUCCESS;
}

bool pool_sharing::free(allocation& block, std::uintptr_t address, engine::point until) {
  const std::lock_guard lock{mutex_};
  const auto opened_block = std::ranges::find(open_allocations_, &block, &opened::record);
  if (opened_block == open_allocations_.end() || block.start() != address) return false;
  const freed_memory::release_pages_operation release{opened_block->pages.get(),
                                                      opened_block->pages.bytes()};
  std::optional<deferred_operation> deferred;
  if (!until.reached())
    deferred.emplace(std::span{&until, 1}, engine::make_unconditional_operation(release));
  (void)opened_block->pages.release();
  // Removes the record before the pages are unmapped, which release.run() or the destructor of
  // `deferred` does. Other mappings may get the addresses afterwards.
  if (block.close() != 0) address_map::instance().remove(block);
  open_allocations_.erase(opened_block);
  if (!deferred) release.run();
  return true;
}

bool pool_sharing::has_mappings() const noexcept {
  const std::lock_guard lock{mutex_};
  return !open_allocations_.empty();
}

bool pool_sharing::end_import() noexcept {
  const std::lock_guard lock{mutex_};
  if (!open_allocations_.empty()) return false;
  imported_store_ = {};
  return true;
}

}  // namespace weir::embedded::model
