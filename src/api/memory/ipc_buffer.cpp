// api/memory/ipc_buffer.cpp - memory of several processes: made or opened, freed or closed.
#include <weir/memory/ipc_buffer.hpp>

#include "api/core/check.hpp"
#include "api/device/device_call.hpp"
#include "api/core/first_failure.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/capture/relaxed_captures.hpp"

#include <cstddef>
#include <cstring>
#include <limits>

namespace weir::detail {
namespace {

void free_made(void* address, void* context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  waiting_in_context(static_cast<CUcontext>(context), failure,
                     [&] { failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree"); });
}

void close_opened(void* address, void* context, first_failure& failure) noexcept {
  waiting_in_context(static_cast<CUcontext>(context), failure, [&] {
    failure.note(driver().cuIpcCloseMemHandle(device_address(address)), "cuIpcCloseMemHandle");
  });
}

constexpr memory_end made_end{"cuMemFree", &free_made};
constexpr memory_end opened_end{"cuIpcCloseMemHandle", &close_opened};

}  // namespace

ipc_memory::ipc_memory(std::size_t count, std::size_t element_bytes, device gpu, call_site at) {
  constexpr const char* call = "cuMemAlloc";
  permit(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) fail(errc::out_of_memory, call, gpu, at);
  const CUcontext context = primary_context(gpu, at);
  CUdeviceptr address = 0;
  if (count != 0) {
    const make_current current{context, at};
    const relaxed_captures unharmed{at};
    check(driver().cuMemAlloc_v2(&address, count * element_bytes), call, gpu, at);
  }
  end_ = &made_end;
  owner_ = device_context_ = context;
  address_ = reinterpret_cast<void*>(address);
  bytes_ = count * element_bytes;
}

ipc_memory::ipc_memory(const ipc_memory_handle& handle, device gpu, std::size_t element_bytes, call_site at)
    : opened_{true} {
  constexpr const char* call = "cuIpcOpenMemHandle";
  permit(call, gpu, at);
  const CUcontext context = primary_context(gpu, at);
  const make_current current{context, at};
  CUipcMemHandle raw;
  std::memcpy(&raw, handle.bytes, sizeof raw);
  CUdeviceptr address = 0;
  check(driver().cuIpcOpenMemHandle_v2(&address, raw, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), call, gpu, at);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  const CUresult answer = driver().cuMemGetAddressRange_v2(&start, &bytes, address);
  if (answer != CUDA_SUCCESS) {
    driver().cuIpcCloseMemHandle(address);
    fail(static_cast<errc>(answer), "cuMemGetAddressRange", gpu, at);
  }
  end_ = &opened_end;
  owner_ = device_context_ = context;
  address_ = reinterpret_cast<void*>(address);
  bytes_ = bytes / element_bytes * element_bytes;
}

ipc_memory_handle ipc_memory::handle(call_site at) const {
  constexpr const char* call = "cuIpcGetMemHandle";
  const subject on = subject::memory(address_);
  permit(call, on, at);
  if (closed()) fail_closed(call, on, at);
  if (opened_) {
    fail(errc::invalid_value, call, to_text(on),
         "it was opened here: only the process that allocated memory gives it away", at);
  }
  if (address_ == nullptr)
    fail(errc::invalid_value, call, "an empty ipc_buffer", "there is no memory to give away", at);
  const make_current current{device_context_, at};
  CUipcMemHandle raw;
  check(driver().cuIpcGetMemHandle(&raw, device_address(address_)), call, on, at);
  ipc_memory_handle told;
  std::memcpy(told.bytes, &raw, sizeof told.bytes);
  return told;
}

}  // namespace weir::detail
