// SPDX-License-Identifier: Apache-2.0
// api/memory/unordered_memory.cpp - memory that belongs to no stream, freed when no stream uses it.
#include <weir/detail/unordered_memory.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/release_when_idle.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/memory_record.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

void free_pinned(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  call_blocking_in_context(static_cast<CUcontext>(context), failure,
                           [&] { failure.note(driver().cuMemFreeHost(address), "cuMemFreeHost"); });
}

// Frees managed and device memory.
void free_device_memory(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  call_blocking_in_context(static_cast<CUcontext>(context), failure, [&] {
    failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree");
  });
}

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

CUresult allocate(allocation_kind kind, std::size_t bytes, unsigned flags, void*& address) {
  if (kind == allocation_kind::pinned) return driver().cuMemHostAlloc(&address, bytes, flags);
  CUdeviceptr allocated = 0;
  const CUresult answer = kind == allocation_kind::managed
                              ? driver().cuMemAllocManaged(&allocated, bytes, flags)
                              : driver().cuMemAlloc_v2(&allocated, bytes);
  address = to_pointer(allocated);
  return answer;
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
  if (bytes != 0) {
    const make_current current{context, at};
    // ipc_buffer, which uses device memory, allows allocating in every capture. The other buffers
    // allow it only in captures that were begun through weir.
    const bool is_relaxed = kind == allocation_kind::device || needs_relaxed_mode();
    const auto guard = is_relaxed ? relaxed_capture_mode{at} : relaxed_capture_mode{};
    check(allocate(kind, bytes, flags, address), call, gpu, at);
  }
  deleter_ = kind == allocation_kind::pinned ? &pinned_deleter : &device_memory_deleter;
  owner_ = context;
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
  if (closed()) return;
  free_when_idle(
      [address = address_, deleter = deleter_, owner = owner_](first_failure failure) {
        deleter->run(address, owner, failure);
        report_if_failed(failure, subject::memory(address));
      },
      std::move(uses));
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
