// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/pool_sharing.cpp - exports pools, and maps allocations of imported pools.
#include "embedded/model/ipc/pool_sharing.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/deferred_unmap.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::model {

using namespace abi;

void pool_sharing::clear() noexcept {
  const std::lock_guard lock{mutex_};
  if (store_ != nullptr) std::exchange(store_, nullptr)->release();
  exported_.store(false, std::memory_order_relaxed);
  imported_.store(false, std::memory_order_relaxed);
  is_import_open_ = false;
  imported_store_ = {};
}

CUresult pool_sharing::make_shareable(int device, const CUmemLocation& location) noexcept {
  store_ = shared_store::create(device, location);
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
  const std::size_t bytes = block.bytes.load(std::memory_order_relaxed);
  if (bytes == 0 || store_ == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int piece = block.piece.load(std::memory_order_relaxed);
  if (piece < 0) piece = store_->publish(block.id, block.start(), bytes);
  if (piece < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  block.piece.store(piece, std::memory_order_relaxed);
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
  if (const int piece = block.piece.exchange(-1, std::memory_order_relaxed); piece >= 0)
    store_->withdraw(piece);
}

void pool_sharing::import(imported_store store) noexcept {
  const std::lock_guard lock{mutex_};
  is_import_open_ = true;
  imported_store_ = std::move(store);
  imported_.store(true, std::memory_order_release);
}

CUresult pool_sharing::open(const CUmemPoolPtrExportData& data, memory_pool& owner_pool,
                            CUdeviceptr& out) {
  ipc_identity block_identity;
  if (!imported() || !block_identity.read(data, ipc_kind::pooled)) return CUDA_ERROR_INVALID_VALUE;
  const piece_id id{block_identity.identity, block_identity.id, block_identity.number};
  const std::lock_guard lock{mutex_};
  if (!is_import_open_) return CUDA_ERROR_INVALID_VALUE;  // another thread is ending the pool
  const auto opened_block = std::find_if(open_allocations_.begin(), open_allocations_.end(),
                                         [&](const opened& o) { return o.id.id == id.id; });
  if (opened_block != open_allocations_.end() && id.store == identity()) {
    out = opened_block->record->start();
    return CUDA_SUCCESS;
  }
  imported_store::piece piece = imported_store_.map(id);
  if (!piece.pages) return CUDA_ERROR_INVALID_VALUE;
  open_allocations_.reserve(open_allocations_.size() + 1);
  const std::uintptr_t start = piece.start();
  allocation& record = address_map::instance().add(start, piece.bytes);
  record.kind = memory_kind::pooled;
  record.on_host = owner_pool.location().is_host();
  record.memory_device = &owner_pool.owner_device();
  record.pool = &owner_pool;
  open_allocations_.push_back({id, &record, std::move(piece.pages)});
  out = start;
  record.open(piece.bytes);
  return CUDA_SUCCESS;
}

bool pool_sharing::free(allocation& block, std::uintptr_t address, engine::point until) {
  const std::lock_guard lock{mutex_};
  const auto opened_block = std::find_if(open_allocations_.begin(), open_allocations_.end(),
                                         [&](const opened& o) { return o.record == &block; });
  if (opened_block == open_allocations_.end() || block.start() != address) return false;
  std::optional<deferred_unmap> deferred;
  if (!until.reached()) {
    deferred.emplace(std::span{&until, 1}, opened_block->pages.get(), opened_block->pages.bytes());
    (void)opened_block->pages.release();
  }
  // Removes the record before the pages are unmapped, which erase() or the destructor of `deferred`
  // does. Other mappings may get the addresses afterwards.
  (void)block.close();
  address_map::instance().remove(block);
  open_allocations_.erase(opened_block);
  return true;
}

bool pool_sharing::has_mappings() const noexcept {
  const std::lock_guard lock{mutex_};
  return !open_allocations_.empty();
}

bool pool_sharing::end_import() noexcept {
  const std::lock_guard lock{mutex_};
  if (!open_allocations_.empty()) return false;
  is_import_open_ = false;
  return true;
}

}  // namespace weir::embedded::model
