// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/freed_memory.cpp - keeps addresses reserved until pending work is complete.
#include "embedded/model/memory/freed_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/deferred_operation.hpp"

namespace weir::embedded::model::freed_memory {

using namespace abi;

namespace {

// A range of pinned or registered memory that the program has freed while work was pending.
struct host_range {
  std::uintptr_t start;
  std::size_t bytes;
};

struct host_ranges {
  std::mutex mutex;
  std::vector<host_range> ranges;

  void add(const host_range& freed) {
    const std::lock_guard lock{mutex};
    ranges.push_back(freed);
  }

  // Returns false if there is no such range.
  bool remove(std::uintptr_t start) noexcept {
    const std::lock_guard lock{mutex};
    const auto found = std::ranges::find(ranges, start, &host_range::start);
    if (found == ranges.end()) return false;
    ranges.erase(found);
    return true;
  }

  [[nodiscard]] bool contains(std::uintptr_t address) noexcept {
    const std::lock_guard lock{mutex};
    return std::ranges::any_of(
        ranges, [&](const host_range& freed) { return address - freed.start < freed.bytes; });
  }
};

host_ranges& freed_host_ranges() noexcept {
  // Never destroyed, because destructors of static objects may still free memory.
  static host_ranges& created = *new host_ranges;
  return created;
}

// The operations that run when the pending work is complete.
struct free_block {
  void* address;
  std::size_t bytes;
  shared_store* store;

  void run() const noexcept { backing::deallocate(address, bytes, nullptr, store); }
};

struct free_pinned {
  void* address;
  std::size_t bytes;

  void run() const noexcept {
    if (freed_host_ranges().remove(reinterpret_cast<std::uintptr_t>(address)))
      backing::protect(address, bytes, PROT_READ | PROT_WRITE);
    backing::deallocate(address, bytes, nullptr);
  }
};

struct end_registration {
  std::uintptr_t start;

  void run() const noexcept { freed_host_ranges().remove(start); }
};

struct unmap_pages {
  void* address;
  std::size_t bytes;

  void run() const noexcept { munmap(address, bytes); }
};

// Calls hold() if work is pending, then runs the cleanup when that work is complete. If memory runs
// out, the memory is never freed.
template <class Hold, class Cleanup>
void release(const context* awaited, const Hold& hold, const Cleanup& cleanup) noexcept {
  try {
    const std::vector<engine::point> pending = pending_points(awaited);
    if (!pending.empty()) hold();
    run_after(pending, engine::make_unconditional_operation(cleanup));
  } catch (const std::exception&) {
    // The addresses stay reserved.
  }
}

}  // namespace

void release_block(void* address, std::size_t bytes, device* charged_device, shared_store* store,
                   const context* awaited) noexcept {
  if (charged_device != nullptr) charged_device->release_memory(bytes);
  release(
      awaited, [] {}, free_block{address, bytes, store});
}

void release_pinned(void* address, std::size_t bytes, const context* awaited) noexcept {
  const auto hold = [&] {
    freed_host_ranges().add({reinterpret_cast<std::uintptr_t>(address), bytes});
    backing::protect(address, bytes, PROT_NONE);
  };
  release(awaited, hold, free_pinned{address, bytes});
}

void release_registration(std::uintptr_t start, std::size_t bytes,
                          const context* awaited) noexcept {
  release(
      awaited,
      [&] {
        freed_host_ranges().add({start, bytes});
      },
      end_registration{start});
}

void release_pages(void* address, std::size_t bytes, const context* awaited) noexcept {
  // New pages without access also return the memory of the old ones to the system.
  const auto hold = [&] {
    mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  };
  release(awaited, hold, unmap_pages{address, bytes});
}

void fail_access(const void* address) noexcept {
  const bool was_host = freed_host_ranges().contains(reinterpret_cast<std::uintptr_t>(address));
  engine::fail_device(was_host ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace weir::embedded::model::freed_memory
