// api/memory/reachable_memory.cpp - memory that the host and devices reach: allocated, and freed.
#include <weir/detail/reachable_memory.hpp>

#include "api/core/check.hpp"
#include "api/device/device_call.hpp"
#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/capture/relaxed_captures.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir::detail {
namespace {

void free_pinned(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  waiting_in_context(static_cast<CUcontext>(context), failure,
                     [&] { failure.note(driver().cuMemFreeHost(address), "cuMemFreeHost"); });
}

void free_managed(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  waiting_in_context(static_cast<CUcontext>(context), failure,
                     [&] { failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree"); });
}

constexpr memory_end pinned_end{"cuMemFreeHost", &free_pinned};
constexpr memory_end managed_end{"cuMemFree", &free_managed};

}  // namespace

reachable_memory::reachable_memory(reachable_kind kind, std::size_t count, std::size_t element_bytes, device gpu,
                                   unsigned flags, call_site at) {
  const char* const call = kind == reachable_kind::pinned ? "cuMemHostAlloc" : "cuMemAllocManaged";
  permit(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    fail(errc::out_of_memory, call, gpu, at);
  }
  const CUcontext context = primary_context(gpu, at);
  const std::size_t bytes = count * element_bytes;
  void* address = nullptr;
  if (bytes != 0) {
    const make_current current{context, at};
    const relaxed_in_our_captures unharmed{at};
    if (kind == reachable_kind::pinned) {
      check(driver().cuMemHostAlloc(&address, bytes, flags), call, gpu, at);
    } else {
      CUdeviceptr managed = 0;
      check(driver().cuMemAllocManaged(&managed, bytes, flags), call, gpu, at);
      address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(managed));
    }
  }
  address_ = address;
  bytes_ = bytes;
  end_ = kind == reachable_kind::pinned ? &pinned_end : &managed_end;
  owner_ = context;
}

}  // namespace weir::detail
