// SPDX-License-Identifier: Apache-2.0
// api/memory/unordered_memory.cpp - memory that belongs to no stream, freed when no stream uses it.
#include <weir/detail/unordered_memory.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/free_backlog.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/memory_record.hpp"
#include "api/memory/pinned_cache.hpp"
#include "os/forked_child.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace weir::detail {
namespace {

// `owner` is the block; null for an empty buffer.
void free_pinned(void* /*address*/, void* owner, first_failure& failure) noexcept {
  if (owner != nullptr) free_block(*static_cast<pinned_block*>(owner), failure);
}

// Frees managed and device memory.
void free_device_memory(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  call_blocking_in_context(static_cast<CUcontext>(context), failure, [&] {
    failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree");
  });
}

struct allocation {
  void* address;
  std::size_t bytes;
  const memory_deleter* deleter;
  void* owner;
};

// Managed, mapped or interprocess memory whose object was destroyed. It is part of the free_backlog
// until it is freed.
class ended_memory final : public recycled_memory {
 public:
  static void recycle(const allocation& memory, ended_uses uses) noexcept {
    auto* const ended = new (std::nothrow) ended_memory{memory};
    if (ended == nullptr) {
      return report_unhandled(errc::out_of_memory, memory.deleter->call,
                              subject::memory(memory.address));
    }
    ended->uses = std::move(uses);
    free_backlog::instance().add(memory.bytes);
    // This memory is not reused, so it does not enter the queue.
    recycling_queue::of_pinned_memory().recycle(*ended, 0);
  }

 private:
  explicit ended_memory(const allocation& memory) noexcept
      : recycled_memory{&free_later, std::max<std::size_t>(memory.bytes, 1)}, memory_{memory} {}

  // Called when the uses are done.
  static void free_later(recycled_memory& self, use_state /*state*/) noexcept {
    self.run = &free_now;
    defer_blocking_task(self);
  }

  static task_result free_now(deferred_task& self) noexcept {
    if (!can_free_now()) return task_result::capture_active;
    const std::unique_ptr<ended_memory> ended{&static_cast<ended_memory&>(self)};
    const allocation& memory = ended->memory_;
    memory.deleter->run(memory.address, memory.owner, ended->failure);
    report_if_failed(ended->failure, subject::memory(memory.address));
    free_backlog::instance().remove(memory.bytes);
    return task_result::done;
  }

  allocation memory_;
};

constexpr memory_deleter pinned_deleter{"cuMemFreeHost", &free_pinned};
constexpr memory_deleter device_memory_deleter{"cuMemFree", &free_device_memory};

const char* allocation_call(allocation_kind kind) noexcept {
  switch (kind) {
    case allocation_kind::pinned: return "cuMemHostAlloc";
    case allocation_kind::managed: return "cuMemAllocManaged";
    case allocation_kind::device: break;
  }
  return "cuMemAlloc";
}

// Allocates managed or device memory.
void* allocate(allocation_kind kind, CUcontext context, std::size_t bytes, unsigned flags,
               weir::device gpu, call_site at) {
  free_backlog::instance().wait_if_long();
  const make_current current{context, at};
  // ipc_buffer, which uses device memory, allows allocating in every capture. Managed memory allows
  // it only in captures that were begun through weir.
  const bool is_relaxed = kind == allocation_kind::device || needs_relaxed_mode();
  const auto guard = is_relaxed ? relaxed_capture_mode{at} : relaxed_capture_mode{};
  CUdeviceptr address = 0;
  const CUresult answer = kind == allocation_kind::managed
                              ? driver().cuMemAllocManaged(&address, bytes, flags)
                              : driver().cuMemAlloc_v2(&address, bytes);
  check(answer, allocation_call(kind), gpu, at);
  return to_pointer(address);
}

}  // namespace

unordered_memory::unordered_memory(allocation_kind kind, std::size_t count,
                                   std::size_t element_bytes, weir::device gpu, unsigned flags,
                                   call_site at)
    : unordered_memory{} {
  const char* const call = allocation_call(kind);
  require_outside_host_function(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes)
    throw_error(errc::out_of_memory, call, gpu, at);
  const CUcontext context = primary_context(gpu, at);
  const std::size_t bytes = count * element_bytes;
  void* address = nullptr;
  void* owner = context;
  if (kind == allocation_kind::pinned) {
    pinned_block* const block =
        bytes != 0 ? &pinned_cache::instance().allocate(gpu, bytes, flags, at) : nullptr;
    owner = block;
    if (block != nullptr) address = block->address;
  } else if (bytes != 0) {
    address = allocate(kind, context, bytes, flags, gpu, at);
  }
  deleter_ = kind == allocation_kind::pinned ? &pinned_deleter : &device_memory_deleter;
  owner_ = owner;
  own(address, bytes, kind == allocation_kind::device ? context : nullptr);
}

unordered_memory::unordered_memory(unordered_memory&& other) noexcept
    : deleter_{other.deleter_}, owner_{other.owner_} {
  move_from(other);
}

unordered_memory& unordered_memory::operator=(unordered_memory&& other) noexcept {
  if (this == &other) return *this;
  const unordered_memory old{std::move(*this)};
  move_from(other);
  deleter_ = other.deleter_;
  owner_ = other.owner_;
  return *this;
}

unordered_memory::~unordered_memory() {
  if (os::in_forked_child()) return;  // the memory and its uses belong to the parent
  ended_uses uses = take_uses();
  if (closed() || address_ == nullptr) return;
  if (deleter_ == &pinned_deleter) {
    pinned_cache::instance().recycle(*static_cast<pinned_block*>(owner_), std::move(uses));
    return;
  }
  ended_memory::recycle({address_, bytes_, deleter_, owner_}, std::move(uses));
}

void unordered_memory::close(call_site at) {
  if (closed()) return;
  const subject object = subject::memory(address_);
  require_outside_host_function(deleter_->call, object, at);
  require_sync_allowed(deleter_->call, at);
  if (const CUstream busy = memory_record::of(tracked()).uses().capturing_stream(); busy != nullptr)
    throw_if_capturing(busy, deleter_->call, at);
  const relaxed_capture_mode guard{at};
  void* const address = address_;
  first_failure failure;
  if (const ended_uses uses = take_uses(); uses != nullptr) uses->sync(failure);
  disown();
  deleter_->run(address, owner_, failure);
  check(failure, object, at);
}

}  // namespace weir::detail
