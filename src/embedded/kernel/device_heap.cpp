// kernel/device_heap.cpp - the host's heap, counted.
#include "embedded/kernel/device_heap.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>

#include "embedded/kernel/block_runner.hpp"

namespace weir::embedded::kernel {

namespace {

std::atomic<std::size_t> limit{std::size_t{8} << 20};
std::atomic<std::size_t> used{0};

}  // namespace

void limit_device_heap(std::size_t bytes) noexcept { limit.store(bytes, std::memory_order_relaxed); }

void* allocate_on_device(unsigned long long bytes) {
  const block_runner::own_work ours;
  if (bytes > limit.load(std::memory_order_relaxed)) return nullptr;
  void* const made = std::malloc(bytes);
  if (made == nullptr) return nullptr;
  const std::size_t size = ::malloc_usable_size(made);
  if (used.fetch_add(size, std::memory_order_relaxed) + size > limit.load(std::memory_order_relaxed)) {
    used.fetch_sub(size, std::memory_order_relaxed);
    std::free(made);
    return nullptr;
  }
  return made;
}

void free_on_device(void* memory) {
  const block_runner::own_work ours;
  if (memory == nullptr) return;
  used.fetch_sub(::malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace weir::embedded::kernel
