// api/reachable_memory.cpp - memory that the host and devices reach, freed when nothing uses it.
#include <weir/reachable_memory.hpp>

#include "api/check.hpp"
#include "api/free_when_unused.hpp"
#include "api/make_current.hpp"
#include "api/may_wait.hpp"
#include "api/primary_context.hpp"
#include "api/relaxed_captures.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace weir::detail {
namespace {

// The driver's allocation alone.
struct reachable_block {
  reachable_kind kind;
  void* address;
  CUcontext context;

  void free(first_failure& failure) const noexcept {
    if (address == nullptr) return;
    try {
      const make_current current{context, call_site{}};
      if (kind == reachable_kind::pinned) {
        failure.note(driver().cuMemFreeHost(address), "cuMemFreeHost");
      } else {
        failure.note(driver().cuMemFree_v2(device_address(address)), "cuMemFree");
      }
    } catch (...) {
      failure.note_exception("cuCtxPushCurrent");
    }
  }
};

}  // namespace

reachable_memory::reachable_memory(reachable_kind kind, std::size_t count, std::size_t element_bytes, device gpu,
                                   unsigned flags, call_site at)
    : kind_{kind} {
  const char* const call = kind == reachable_kind::pinned ? "cuMemHostAlloc" : "cuMemAllocManaged";
  permit(call, gpu, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    fail(errc::out_of_memory, call, gpu, at);
  }
  context_ = primary_context(gpu, at);
  const std::size_t bytes = count * element_bytes;
  void* address = nullptr;
  if (bytes != 0) {
    const make_current current{context_, at};
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
}

reachable_memory::reachable_memory(reachable_memory&& other) noexcept : kind_{other.kind_}, context_{other.context_} {
  take(other);
}

reachable_memory& reachable_memory::operator=(reachable_memory&& other) noexcept {
  if (this == &other) return *this;
  const reachable_memory old{std::move(*this)};
  take(other);
  kind_ = other.kind_;
  context_ = other.context_;
  return *this;
}

reachable_memory::~reachable_memory() {
  if (closed()) return;
  const reachable_block block{kind_, address_, context_};
  free_when_unused(std::unique_ptr<use_list>{uses_}, [block](first_failure failure) {
    block.free(failure);
    if (failure.code != errc::success) report_unraised(failure.code, failure.call, subject::memory(block.address));
  });
}

void reachable_memory::close(call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  const char* const call = kind_ == reachable_kind::pinned ? "cuMemFreeHost" : "cuMemFree";
  permit(call, on, at);
  may_wait(call, at);
  const reachable_block block{kind_, address_, context_};
  first_failure failure;
  if (const std::unique_ptr<use_list> uses{uses_}) uses->sync(failure);
  forget();
  block.free(failure);
  if (failure.code != errc::success) fail(failure.code, failure.call, on, at);
}

}  // namespace weir::detail
