// SPDX-License-Identifier: Apache-2.0
// kernel/device_heap.cpp - the host's heap, counted and marked.
#include "embedded/kernel/device_heap.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "embedded/kernel/blocks/block_runner.hpp"

namespace weir::embedded::kernel {

namespace {

std::atomic<std::size_t> heap_limit{std::size_t{8} << 20};
std::atomic<std::size_t> used{0};

// In front of each block that is in use. A kernel may free anything; the host's heap would end the
// process for it.
struct header {
  std::atomic<std::uint64_t> mark;
  std::uint64_t bytes;  // with the header
};
static_assert(sizeof(header) % alignof(std::max_align_t) == 0);

std::uint64_t mark_of(const header& at) noexcept {
  return reinterpret_cast<std::uintptr_t>(&at) ^ 0x7765697268656170;
}

// Takes the mark away. False where there is none; where there is no memory, that is a fault of the
// kernel's. The sanitizers would take the look for the driver's mistake.
__attribute__((no_sanitize("address", "thread"))) bool unmark(header& at) noexcept {
  std::uint64_t mark = mark_of(at);
  return at.mark.compare_exchange_strong(mark, 0, std::memory_order_relaxed);
}

}  // namespace

void limit_device_heap(std::size_t bytes) noexcept {
  heap_limit.store(bytes, std::memory_order_relaxed);
}

void* allocate_on_device(unsigned long long bytes) {
  const block_runner::own_work ours;
  const std::size_t most = heap_limit.load(std::memory_order_relaxed);
  if (bytes > most) return nullptr;
  const std::size_t size = bytes + sizeof(header);
  void* made = nullptr;
  if (used.fetch_add(size, std::memory_order_relaxed) + size <= most) made = std::malloc(size);
  if (made == nullptr) {
    used.fetch_sub(size, std::memory_order_relaxed);
    return nullptr;
  }
  auto* const in_front = new (made) header{{}, size};
  in_front->mark.store(mark_of(*in_front), std::memory_order_relaxed);
  return in_front + 1;
}

void free_on_device(void* memory) {
  if (memory == nullptr) return;
  header* const in_front = static_cast<header*>(memory) - 1;
  const bool aligned = reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t) == 0;
  if (!aligned || !unmark(*in_front)) {
    fail_kernel(abi::CUDA_ERROR_LAUNCH_FAILED,
                "weir: a kernel frees what is not, or no longer, of the device's heap");
  }
  const block_runner::own_work ours;
  used.fetch_sub(in_front->bytes, std::memory_order_relaxed);
  std::free(in_front);
}

}  // namespace weir::embedded::kernel
