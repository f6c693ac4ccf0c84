// api/ipc_buffer.cpp - memory of several processes: made or opened, freed or closed when nothing uses it.
#include <weir/ipc_buffer.hpp>

#include "api/check.hpp"
#include "api/free_when_unused.hpp"
#include "api/make_current.hpp"
#include "api/may_wait.hpp"
#include "api/primary_context.hpp"
#include "api/refuse_in_capture.hpp"

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

const char* ending_call(bool opened) noexcept { return opened ? "cuIpcCloseMemHandle" : "cuMemFree"; }

void end_memory(void* address, CUcontext context, bool opened, first_failure& failure) noexcept {
  if (address == nullptr) return;
  try {
    const make_current current{context, call_site{}};
    const CUdeviceptr at = device_address(address);
    failure.note(opened ? driver().cuIpcCloseMemHandle(at) : driver().cuMemFree_v2(at), ending_call(opened));
  } catch (...) {
    failure.note_exception("cuCtxPushCurrent");
  }
}

}  // namespace

ipc_memory::ipc_memory(std::size_t count, std::size_t element_bytes, device gpu, call_site at) {
  constexpr const char* call = "cuMemAlloc";
  permit(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) fail(errc::out_of_memory, call, gpu, at);
  const CUcontext context = primary_context(gpu, at);
  CUdeviceptr address = 0;
  if (count != 0) {
    const make_current current{context, at};
    check(driver().cuMemAlloc_v2(&address, count * element_bytes), call, gpu, at);
  }
  device_context_ = context;
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
  device_context_ = context;
  address_ = reinterpret_cast<void*>(address);
  bytes_ = bytes / element_bytes * element_bytes;
}

ipc_memory::ipc_memory(ipc_memory&& other) noexcept : opened_{other.opened_} { take(other); }

ipc_memory& ipc_memory::operator=(ipc_memory&& other) noexcept {
  if (this == &other) return *this;
  const ipc_memory old{std::move(*this)};
  take(other);
  opened_ = other.opened_;
  return *this;
}

ipc_memory::~ipc_memory() {
  if (closed()) return;
  free_when_unused(std::unique_ptr<use_list>{uses_},
                   [address = address_, context = device_context_, opened = opened_](first_failure failure) {
                     end_memory(address, context, opened, failure);
                     if (failure.code != errc::success) {
                       report_unraised(failure.code, failure.call, subject::memory(address));
                     }
                   });
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

void ipc_memory::close(call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  const char* const call = ending_call(opened_);
  permit(call, on, at);
  refuse_in_captures(call, on, at);
  may_wait(call, at);
  void* const address = address_;
  const CUcontext context = device_context_;
  first_failure failure;
  if (const std::unique_ptr<use_list> uses{uses_}) uses->sync(failure);
  forget();
  end_memory(address, context, opened_, failure);
  if (failure.code != errc::success) fail(failure.code, failure.call, on, at);
}

}  // namespace weir::detail
