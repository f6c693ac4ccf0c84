// api/memory/copy.cpp - copies in stream order.
#include <weir/memory/copy.hpp>

#include "api/capture/captures.hpp"
#include "api/capture/throw_if_capturing.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/device/make_current.hpp"
#include "api/memory/operand.hpp"
#include "api/stream/stream_state.hpp"

#include <fmt/format.h>

#include <optional>

namespace weir::detail {
namespace {

[[noreturn, gnu::cold]] void throw_too_long(const region& from, const region& to, call_site at) {
  throw_error(
      errc::invalid_value, "weir::copy", fmt::format("memory at {}", to.address),
      fmt::format("{} bytes do not fit into {}; take a part of the source (std::span::first)",
                  from.bytes, to.bytes),
      at);
}

// Between contexts, where both are known to be.
[[nodiscard]] bool is_between_contexts(const region& from, const region& to) noexcept {
  return from.owner != nullptr && to.owner != nullptr && from.owner->device_context() != nullptr &&
         to.owner->device_context() != nullptr &&
         from.owner->device_context() != to.owner->device_context();
}

// A copy of a pool's memory that is captured where no context is current is recorded as one of
// another sort: an H200 crashes in the launch of an executable that was updated from it. So while
// it is captured the stream's context is current.
class capture_context_guard {
 public:
  capture_context_guard(CUstream stream, call_site at) {
    if (any_capture_active()) [[unlikely]] {
      if (is_captured(stream)) current_.emplace(context_of(stream, at), at);
    }
  }

 private:
  std::optional<make_current> current_;
};

// A driver asks the device of the current context whether a pool lets it in, whatever the stream.
// Where it has refused a copy in that context, it is asked again in the stream's own.
[[nodiscard, gnu::cold]] CUresult copy_in_own_context(CUdeviceptr dst, CUdeviceptr src,
                                                      std::size_t bytes, CUstream stream,
                                                      call_site at) {
  const CUcontext current = current_context_handle(at);
  const CUcontext own = current != nullptr ? context_of(stream, at) : nullptr;
  if (own == current) return CUDA_ERROR_INVALID_VALUE;
  const make_current there{own, at};
  return driver().cuMemcpyAsync(dst, src, bytes, stream);
}

}  // namespace

bool is_pageable(const region& where) {
  if (where.owner != nullptr) return false;
  unsigned type = 0;
  const CUresult answer = driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                         device_address(where.address));
  return answer != CUDA_SUCCESS;
}

void copy_region(stream_ref stream, const region& from, const region& to, call_site at) {
  constexpr const char* call = "cuMemcpyAsync";
  const CUstream handle = require_open(stream, call, at);
  const operand source{from, stream, call, at};
  const operand target{to, stream, call, at};
  if (from.bytes > to.bytes) [[unlikely]] {
    throw_too_long(from, to, at);
  }
  if (from.bytes == 0) return;
  if (current_sync_guard != nullptr && (is_pageable(from) || is_pageable(to))) [[unlikely]] {
    require_sync_allowed(call, at);
  }

  const CUdeviceptr dst = device_address(to.address);
  const CUdeviceptr src = device_address(from.address);
  if (is_between_contexts(from, to)) [[unlikely]] {
    constexpr const char* peer_call = "cuMemcpyPeerAsync";
    throw_if_capturing(handle, peer_call, at);
    check(driver().cuMemcpyPeerAsync(dst, to.owner->device_context(), src,
                                     from.owner->device_context(), from.bytes, handle),
          peer_call, stream, at);
  } else {
    const capture_context_guard current{handle, at};
    const CUresult answer = driver().cuMemcpyAsync(dst, src, from.bytes, handle);
    if (answer != CUDA_SUCCESS) [[unlikely]] {
      check(answer == CUDA_ERROR_INVALID_VALUE
                ? copy_in_own_context(dst, src, from.bytes, handle, at)
                : answer,
            call, stream, at);
    }
  }
  source.queued(at);
  target.queued(at);
}

}  // namespace weir::detail
