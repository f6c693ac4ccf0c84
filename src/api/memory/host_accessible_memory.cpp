// SPDX-License-Identifier: Apache-2.0
// api/memory/host_accessible_memory.cpp - allocates and frees memory that both the host and devices
// access.
#include <weir/detail/host_accessible_memory.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir::detail {
namespace {

void free_pinned(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  call_blocking_in_context(static_cast<CUcontext>(context), failure,
                           [&] { failure.note(driver().cuMemFreeHost(address), "cuMemFreeHost"); });
}

void free_managed(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  call_blocking_in_context(static_cast<CUcontext>(context), failure, [&] {
    failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree");
  });
}

constexpr memory_deleter pinned_deleter{"cuMemFreeHost", &free_pinned};
constexpr memory_deleter managed_deleter{"cuMemFree", &free_managed};

}  // namespace

host_accessible_memory::host_accessible_memory(host_accessible_kind kind, std::size_t count,
                                               std::size_t element_bytes, device gpu,
                                               unsigned flags, call_site at) {
  const char* const call =
      kind == host_accessible_kind::pinned ? "cuMemHostAlloc" : "cuMemAllocManaged";
  require_outside_host_function(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    throw_error(errc::out_of_memory, call, gpu, at);
  }
  const CUcontext context = primary_context(gpu, at);
  const std::size_t bytes = count * element_bytes;
  void* address = nullptr;
  if (bytes != 0) {
    const make_current current{context, at};
    const relaxed_mode_if_capturing guard{at};
    if (kind == host_accessible_kind::pinned) {
      check(driver().cuMemHostAlloc(&address, bytes, flags), call, gpu, at);
    } else {
      CUdeviceptr managed = 0;
      check(driver().cuMemAllocManaged(&managed, bytes, flags), call, gpu, at);
      address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(managed));
    }
  }
  address_ = address;
  bytes_ = bytes;
  deleter_ = kind == host_accessible_kind::pinned ? &pinned_deleter : &managed_deleter;
  owner_ = context;
}

}  // namespace weir::detail
