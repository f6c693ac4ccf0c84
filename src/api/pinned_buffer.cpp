// api/pinned_buffer.cpp - pinned host memory, freed when no copy uses it.
#include <weir/pinned_buffer.hpp>

#include "api/check.hpp"
#include "api/make_current.hpp"
#include "api/primary_context.hpp"
#include "api/reclaimer.hpp"
#include "api/use_list.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

// The driver's allocation alone, with what has to be done before it is freed.
struct pinned_block {
  void* address;
  CUcontext context;
  std::unique_ptr<use_list> uses;

  void free(first_failure& failure) noexcept {
    uses.reset();
    if (address == nullptr) return;
    try {
      const make_current current{context, call_site{}};
      failure.note(driver().cuMemFreeHost(address), "cuMemFreeHost");
    } catch (...) {
      failure.note_exception("cuCtxPushCurrent");
    }
  }

  void free_and_report(first_failure failure) noexcept {
    free(failure);
    if (failure.code != errc::success) report_unraised(failure.code, failure.call, subject::memory(address));
  }
};

// Without waiting: now if that is allowed and nothing uses it, else by weir's own thread as soon as it is.
void free_when_unused(pinned_block block) noexcept {
  if (may_free() && block.uses == nullptr) {
    block.free_and_report({});
    return;
  }
  defer([block = std::move(block), frozen = false, failure = first_failure{}]() mutable {
    if (!may_free()) return chore_result::capture_open;
    if (block.uses != nullptr && !std::exchange(frozen, true)) block.uses->freeze(failure);
    if (block.uses != nullptr && !block.uses->done()) return chore_result::busy;
    block.free_and_report(failure);
    return chore_result::done;
  });
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
  free_when_unused({address_, context_, std::unique_ptr<use_list>{uses_}});
}

void pinned_memory::close(call_site at) {
  if (closed()) return;
  permit("cuMemFreeHost", subject::memory(address_), at);
  pinned_block block{address_, context_, std::unique_ptr<use_list>{uses_}};
  forget();
  first_failure failure;
  if (block.uses != nullptr) block.uses->sync(failure);
  block.free(failure);
  if (failure.code != errc::success) fail(failure.code, failure.call, subject::memory(block.address), at);
}

}  // namespace weir::detail
