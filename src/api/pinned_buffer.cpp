// api/pinned_buffer.cpp - pinned host memory, freed when no copy uses it.
#include <weir/pinned_buffer.hpp>

#include "api/check.hpp"
#include "api/free_when_unused.hpp"
#include "api/make_current.hpp"
#include "api/may_wait.hpp"
#include "api/primary_context.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

void free_block(void* address, CUcontext context, first_failure& failure) noexcept {
  if (address == nullptr) return;
  try {
    const make_current current{context, call_site{}};
    failure.note(driver().cuMemFreeHost(address), "cuMemFreeHost");
  } catch (...) {
    failure.note_exception("cuCtxPushCurrent");
  }
}

}  // namespace

pinned_memory::pinned_memory(std::size_t count, std::size_t element_bytes, device gpu, call_site at) {
  constexpr const char* call = "cuMemHostAlloc";
  permit(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    fail(errc::out_of_memory, call, gpu, at);
  }
  context_ = primary_context(gpu, at);
  void* address = nullptr;
  if (count != 0) {
    const make_current current{context_, at};
    check(driver().cuMemHostAlloc(&address, count * element_bytes, CU_MEMHOSTALLOC_PORTABLE), call, gpu, at);
  }
  address_ = address;
  bytes_ = count * element_bytes;
}

pinned_memory::pinned_memory(pinned_memory&& other) noexcept : context_{other.context_} { take(other); }

pinned_memory& pinned_memory::operator=(pinned_memory&& other) noexcept {
  if (this == &other) return *this;
  const pinned_memory old{std::move(*this)};
  take(other);
  context_ = other.context_;
  return *this;
}

pinned_memory::~pinned_memory() {
  if (closed()) return;
  free_when_unused(std::unique_ptr<use_list>{uses_}, [address = address_, context = context_](first_failure failure) {
    free_block(address, context, failure);
    if (failure.code != errc::success) report_unraised(failure.code, failure.call, subject::memory(address));
  });
}

void pinned_memory::close(call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  permit("cuMemFreeHost", on, at);
  may_wait("cuMemFreeHost", at);
  void* const address = address_;
  first_failure failure;
  if (const std::unique_ptr<use_list> uses{uses_}) uses->sync(failure);
  forget();
  free_block(address, context_, failure);
  if (failure.code != errc::success) fail(failure.code, failure.call, on, at);
}

}  // namespace weir::detail
