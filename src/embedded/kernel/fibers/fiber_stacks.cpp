// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/fiber_stacks.cpp - mapping stacks, with a guard below each.
#include "embedded/kernel/fibers/fiber_stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "os/poison.hpp"

namespace weir::embedded::kernel {

namespace {

// Each guard splits a mapping, and a process may have some 65000 of those. Beyond this many stacks
// are made without.
constexpr std::size_t most_guards = 16000;
std::atomic<std::size_t> guards{0};
std::atomic<std::size_t> limit{0};

std::size_t page() noexcept {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

void set_stack_limit(std::size_t bytes) noexcept { limit.store(bytes, std::memory_order_relaxed); }
std::size_t stack_limit() noexcept { return limit.load(std::memory_order_relaxed); }

// With the guard it is an odd number of pages, so that the stacks use different parts of the
// caches.
std::size_t fiber_stacks::stride() const noexcept { return bytes_ + page(); }

bool fiber_stacks::require(std::size_t bytes) noexcept {
  if (bytes <= bytes_) return false;
  const std::size_t pages = (bytes + page() - 1) / page();
  const bool had_some = !groups_.empty();
  release();
  bytes_ = (pages + pages % 2) * page();
  return had_some;
}

fiber_stack fiber_stacks::at(std::size_t number) {
  while (number / together >= groups_.size()) {
    groups_.reserve(groups_.size() + 1);
    void* const made = ::mmap(nullptr, together * stride(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc{};
    ::madvise(made, together * stride(), MADV_NOHUGEPAGE);  // a stack mostly touches its last page
    groups_.push_back(static_cast<std::byte*>(made));
    if (guards.fetch_add(together, std::memory_order_relaxed) >= most_guards) continue;
    for (std::size_t i = 0; i < together; ++i)
      ::mprotect(groups_.back() + i * stride(), page(), PROT_NONE);
  }
  return {groups_[number / together] + number % together * stride() + page(), bytes_};
}

bool fiber_stacks::is_below_one(const void* address) const noexcept {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const std::byte* group : groups_) {
    if (at >= group && at < group + together * stride()) {
      return static_cast<std::size_t>(at - group) % stride() < page();
    }
  }
  return false;
}

void fiber_stacks::release() noexcept {
  for (std::byte* group : groups_) {
    // Fibers that were left in the middle have frames there, and the addresses may be an image's
    // next.
    os::unpoison(group, together * stride());
    ::munmap(group, together * stride());
  }
  guards.fetch_sub(groups_.size() * together, std::memory_order_relaxed);
  groups_.clear();
}

}  // namespace weir::embedded::kernel
