// SPDX-License-Identifier: Apache-2.0
// api/memory/ipc_buffer.cpp - interprocess memory: exported, opened and closed.
#include <weir/memory/ipc_buffer.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/device/device_wait.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <bit>
#include <cstddef>

namespace weir::detail {
namespace {

void close_opened(void* address, void* context, first_failure& failure) noexcept {
  call_blocking_in_context(static_cast<CUcontext>(context), failure, [&] {
    failure.note(driver().cuIpcCloseMemHandle(device_address(address)), "cuIpcCloseMemHandle");
  });
}

constexpr memory_deleter opened_deleter{"cuIpcCloseMemHandle", &close_opened};

}  // namespace

ipc_memory::ipc_memory(const ipc_memory_handle& handle, device gpu, std::size_t element_bytes,
                       call_site at)
    : opened_{true} {
  constexpr const char* call = "cuIpcOpenMemHandle";
  require_outside_host_function(call, gpu, at);
  const CUcontext context = primary_context(gpu, at);
  const make_current current{context, at};
  const auto raw = std::bit_cast<CUipcMemHandle>(handle);
  CUdeviceptr address = 0;
  check(driver().cuIpcOpenMemHandle_v2(&address, raw, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), call,
        gpu, at);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  const CUresult answer = driver().cuMemGetAddressRange_v2(&start, &bytes, address);
  if (answer != CUDA_SUCCESS) {
    driver().cuIpcCloseMemHandle(address);
    throw_error(static_cast<errc>(answer), "cuMemGetAddressRange", gpu, at);
  }
  deleter_ = &opened_deleter;
  owner_ = context;
  own(to_pointer(address), bytes / element_bytes * element_bytes, context);
}

ipc_memory_handle ipc_memory::handle(call_site at) const {
  constexpr const char* call = "cuIpcGetMemHandle";
  const subject object = subject::memory(address_);
  require_outside_host_function(call, object, at);
  if (closed()) throw_closed(call, object, at);
  if (opened_) {
    throw_error(errc::invalid_value, call, to_text(object),
                "the memory was opened from a handle; get the handle in the process that "
                "allocated the memory",
                at);
  }
  if (address_ == nullptr)
    throw_error(errc::invalid_value, call, "an empty ipc_buffer",
                "the ipc_buffer is empty, so it has no handle; allocate at least one element", at);
  const make_current current{tracked().device_context(), at};
  CUipcMemHandle raw;
  check(driver().cuIpcGetMemHandle(&raw, device_address(address_)), call, object, at);
  return std::bit_cast<ipc_memory_handle>(raw);
}

}  // namespace weir::detail
